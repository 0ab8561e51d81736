// stb's encoder: encode_stb IN.ppm OUT.jpg QUALITY
#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb/stb_image.h>
#include <stb/stb_image_write.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int width, height, channels;
  if (argc != 4) return 2;
  unsigned char* pixels = stbi_load(argv[1], &width, &height, &channels, 3);
  return pixels && stbi_write_jpg(argv[2], width, height, 3, pixels, atoi(argv[3])) ? 0 : 1;
}
