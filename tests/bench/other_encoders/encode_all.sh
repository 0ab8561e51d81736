#!/bin/bash
# Encodes a few pictures with the JPEG encoders of Debian 12, for the checks of the decoder on the device.
#
#   tests/bench/other_encoders/encode_all.sh ARCHIVE.tar.gz
#
# The archive is to be taken to the GPU machine; bench/jpeg_verdicts there takes the folder. An encoder that is
# not installed is left out, and said so. Wanted: imagemagick graphicsmagick netpbm libjpeg-turbo-progs guetzli
# jpegoptim ffmpeg libvips-tools exactimage python3-opencv golang-go default-jdk-headless libstb-dev ghostscript
# libimager-perl python3-pil python3-numpy
set -uo pipefail
here=$(dirname "$(readlink -f "$0")")
archive=$(readlink -m "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
out=$work/other_jpegs
mkdir "$out"
cd "$work" || exit

# encode NAME COMMAND...: COMMAND writes $out/NAME.jpg.
encode() {
  local name=$1
  shift
  command -v "$1" >/dev/null || { echo "$1 is not installed" >>"$work/missing"; return; }
  "$@" >"$work/log" 2>&1 && [ -s "$out/$name.jpg" ] && return
  echo "$name: $* failed: $(tail -n 1 "$work/log")" >>"$work/missing"
  rm -f "$out/$name.jpg"
}

to() { # FILE COMMAND...: writes what COMMAND prints.
  local file=$1
  shift
  "$@" >"$file"
}

/usr/bin/python3 - <<'PYTHON'
import numpy as np
from PIL import Image

for i, (width, height) in enumerate(
        [(320, 240), (241, 333), (97, 61), (500, 375), (64, 64), (17, 200), (333, 16), (3, 3), (1, 1), (150, 151)]):
    rng = np.random.default_rng(i)
    coarse = rng.integers(0, 256, (height // 11 + 2, width // 13 + 2, 3), dtype=np.uint8)
    smooth = np.asarray(Image.fromarray(coarse).resize((width, height), Image.BICUBIC), np.int32)
    pixels = smooth + rng.integers(-9, 10, (height, width, 3))
    image = Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))
    image.save(f"{i}.png")
    image.save(f"{i}.ppm")
PYTHON

gcc -O1 "$here/encode_stb.c" -lm -o encode_stb 2>/dev/null || echo "no libstb-dev" >>missing
go build -o encode_go "$here/encode.go" 2>/dev/null || echo "no golang-go" >>missing
java_jobs=()
for ppm in ?.ppm; do
  i=${ppm%.ppm}
  q=$((35 + 7 * i))
  for sampling in 4:4:4 4:2:2 4:2:0 4:1:1 4:4:0; do
    s=${sampling//:/}
    encode "magick_${s}_$i" convert "$i.png" -quality "$q" -sampling-factor "$sampling" "$out/magick_${s}_$i.jpg"
  done
  encode "magick_gray_$i" convert "$i.png" -colorspace Gray -quality "$q" "$out/magick_gray_$i.jpg"
  encode "magick_rgb_$i" convert "$i.png" -quality "$q" -set colorspace sRGB -define jpeg:colorspace=RGB \
    -define jpeg:optimize-coding=false "$out/magick_rgb_$i.jpg"
  encode "graphics_$i" gm convert "$i.png" -quality "$q" -sampling-factor 2x1 "$out/graphics_$i.jpg"
  encode "netpbm_$i" to "$out/netpbm_$i.jpg" pnmtojpeg -quality="$q" -optimize "$i.ppm"
  encode "netpbm_restart_$i" to "$out/netpbm_restart_$i.jpg" pnmtojpeg -quality=95 -restart=2 "$i.ppm"
  encode "netpbm_float_$i" to "$out/netpbm_float_$i.jpg" pnmtojpeg -dct=float -smooth=10 "$i.ppm"
  encode "cjpeg_$i" cjpeg -quality "$q,10" -sample 2x2 -dct fast -outfile "$out/cjpeg_$i.jpg" "$i.ppm"
  encode "cjpeg_slots_$i" cjpeg -quality "$q,10" -qslots 1,0,0 -restart 3B -outfile "$out/cjpeg_slots_$i.jpg" "$i.ppm"
  encode "guetzli_$i" guetzli --quality 90 "$i.png" "$out/guetzli_$i.jpg"
  for format in yuvj420p yuvj422p yuvj444p; do
    for huffman in default optimal; do
      name=ffmpeg_${format}_${huffman}_$i
      encode "$name" ffmpeg -v error -y -i "$i.png" -pix_fmt $format -huffman $huffman -q:v $((2 + 3 * i)) \
        "$out/$name.jpg"
    done
  done
  encode "ffmpeg_slices_$i" ffmpeg -v error -y -i "$i.png" -pix_fmt yuvj420p -threads 4 -slices 4 "$out/ffmpeg_slices_$i.jpg"
  encode "vips_$i" vips jpegsave "$i.png" "$out/vips_$i.jpg" --Q "$q" --optimize-coding --trellis-quant
  encode "vips_444_$i" vips jpegsave "$i.png" "$out/vips_444_$i.jpg" --Q "$q" --subsample-mode off --restart-interval 4
  encode "exact_$i" econvert -i "$i.png" --quality "$q" -o "$out/exact_$i.jpg"
  encode "opencv_$i" /usr/bin/python3 -c "import cv2; cv2.imwrite('$out/opencv_$i.jpg', cv2.imread('$i.png'),
    [cv2.IMWRITE_JPEG_QUALITY, $q, cv2.IMWRITE_JPEG_OPTIMIZE, $((i % 2)), cv2.IMWRITE_JPEG_RST_INTERVAL, $((i % 5))])"
  encode "imager_$i" perl -MImager -e "Imager->new(file => '$i.ppm')->write(file => '$out/imager_$i.jpg',
    jpegquality => $q, jpeg_optimize => 1) or die Imager->errstr"
  encode "stb_$i" ./encode_stb "$i.ppm" "$out/stb_$i.jpg" "$q"
  encode "stb_best_$i" ./encode_stb "$i.ppm" "$out/stb_best_$i.jpg" 95
  encode "go_$i" ./encode_go "$i.png" "$out/go_$i.jpg" "$q"
  encode "go_gray_$i" ./encode_go "$i.png" "$out/go_gray_$i.jpg" 85
  encode "go_best_$i" ./encode_go "$i.png" "$out/go_best_$i.jpg" 100
  java_jobs+=("$i.png" "$out/java_$i.jpg" "$q")
  # The same pictures, but coded again.
  cp "$out/cjpeg_$i.jpg" "$out/jpegoptim_$i.jpg"
  encode "jpegoptim_$i" jpegoptim --all-normal --force -m"$q" "$out/jpegoptim_$i.jpg"
  for way in "-optimize" "-rotate 90 -trim" "-flip horizontal -restart 1B" "-transpose" "-grayscale"; do
    name=jpegtran_${way//[^a-z0-9A-Z]/}_$i
    # shellcheck disable=SC2086
    encode "$name" jpegtran $way -outfile "$out/$name.jpg" "$out/magick_420_$i.jpg"
  done
done
java "$here/Encode.java" "${java_jobs[@]}" 2>/dev/null || echo "no default-jdk-headless" >>missing
gs -q -dBATCH -dNOPAUSE -sDEVICE=jpeg -g300x200 -sOutputFile="$out/ghostscript.jpg" \
  -c "0.2 0.7 0.4 setrgbcolor 10 10 moveto 280 30 lineto 150 190 lineto fill showpage" 2>/dev/null ||
  echo "no ghostscript" >>missing

[ ! -e missing ] || sort missing | uniq -c >&2
tar -C "$work" -czf "$archive" other_jpegs
files=("$out"/*)
echo "${#files[@]} files, $(stat -c %s "$archive") bytes: $archive"
