// Go's own encoder: encode IN.png OUT.jpg QUALITY
package main

import (
	"image"
	"image/color"
	"image/jpeg"
	_ "image/png"
	"os"
	"strconv"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	in, err := os.Open(os.Args[1])
	check(err)
	picture, _, err := image.Decode(in)
	check(err)
	quality, err := strconv.Atoi(os.Args[3])
	check(err)
	if quality%10 == 5 { // Some are gray.
		gray := image.NewGray(picture.Bounds())
		for y := 0; y < gray.Rect.Dy(); y++ {
			for x := 0; x < gray.Rect.Dx(); x++ {
				gray.Set(x, y, color.GrayModel.Convert(picture.At(x, y)))
			}
		}
		picture = gray
	}
	out, err := os.Create(os.Args[2])
	check(err)
	check(jpeg.Encode(out, picture, &jpeg.Options{Quality: quality}))
	check(out.Close())
}
