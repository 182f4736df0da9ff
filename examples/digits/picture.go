package main

import (
	"fmt"
	"strings"
)

// shades go from paper to ink.
const shades = " .:-=+*#%@"

// pictures draws digits side by side, each over a line of text.
func pictures(images [][]float32, captions []string) string {
	const width = 2 * side // a character is about twice as high as wide
	var b strings.Builder
	for y := range side {
		line := ""
		for _, img := range images {
			for x := range side {
				shade := int(img[y*side+x]*float32(len(shades)-1) + 0.5)
				shade = min(max(shade, 0), len(shades)-1)
				line += strings.Repeat(shades[shade:shade+1], 2)
			}
			line += "  "
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	line := ""
	for _, c := range captions {
		line += fmt.Sprintf("%-*s  ", width, c)
	}
	b.WriteString(strings.TrimRight(line, " ") + "\n")
	return b.String()
}

// gallery shows a row of the first scans, and a row of those that the network
// reads otherwise than their writers meant.
func gallery(s *scans, answers []int) string {
	var first, wrong []int
	for i, a := range answers {
		if int64(a) != s.labels[i] {
			wrong = append(wrong, i)
		} else if len(first) < perRow {
			first = append(first, i)
		}
	}
	text := row(s, answers, first)
	if len(wrong) > 0 {
		text += "\nMisread:\n\n" + row(s, answers, wrong[:min(len(wrong), perRow)])
	}
	return text
}

const perRow = 5

func row(s *scans, answers, which []int) string {
	var images [][]float32
	var captions []string
	for _, i := range which {
		images = append(images, s.images[i*pixels:(i+1)*pixels])
		caption := fmt.Sprintf("reads %d", answers[i])
		if int64(answers[i]) != s.labels[i] {
			caption += fmt.Sprintf(", is %d", s.labels[i])
		}
		captions = append(captions, caption)
	}
	return pictures(images, captions)
}
