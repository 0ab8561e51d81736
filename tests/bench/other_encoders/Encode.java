// OpenJDK's ImageIO: Encode (IN.png OUT.jpg QUALITY)...
import java.io.File;
import javax.imageio.IIOImage;
import javax.imageio.ImageIO;
import javax.imageio.ImageWriteParam;
import javax.imageio.ImageWriter;
import javax.imageio.stream.FileImageOutputStream;
import javax.imageio.plugins.jpeg.JPEGImageWriteParam;

class Encode {
  public static void main(String[] arguments) throws Exception {
    ImageWriter writer = ImageIO.getImageWritersByFormatName("jpeg").next();
    for (int i = 0; i < arguments.length; i += 3) {
      JPEGImageWriteParam how = new JPEGImageWriteParam(null);
      how.setCompressionMode(ImageWriteParam.MODE_EXPLICIT);
      how.setCompressionQuality(Integer.parseInt(arguments[i + 2]) / 100f);
      how.setOptimizeHuffmanTables(i % 2 == 1);
      try (FileImageOutputStream out = new FileImageOutputStream(new File(arguments[i + 1]))) {
        writer.setOutput(out);
        writer.write(null, new IIOImage(ImageIO.read(new File(arguments[i])), null, null), how);
      }
    }
  }
}
