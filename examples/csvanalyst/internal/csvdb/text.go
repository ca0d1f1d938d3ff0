package csvdb

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

// ErrNotCSV is returned for a file that is not text in rows and columns.
var ErrNotCSV = errors.New("this is not a CSV file")

// The encodings of a file.
const (
	UTF8        = "UTF-8"
	UTF16LE     = "UTF-16LE"
	UTF16BE     = "UTF-16BE"
	Windows1252 = "Windows-1252"
)

// decoders turn an encoding into UTF-8. Invalid bytes become U+FFFD.
var decoders = map[string]encoding.Encoding{
	UTF8:        unicode.UTF8BOM,
	UTF16LE:     unicode.UTF16(unicode.LittleEndian, unicode.UseBOM),
	UTF16BE:     unicode.UTF16(unicode.BigEndian, unicode.UseBOM),
	Windows1252: charmap.Windows1252,
}

// magics are the first bytes of files of other types, which people upload by mistake.
var magics = []struct{ begin, what string }{
	{"PK\x03\x04", "a ZIP archive, or an Excel workbook: save it as CSV first"},
	{"\xd0\xcf\x11\xe0", "an old Excel workbook: save it as CSV first"},
	{"%PDF-", "a PDF document"},
	{"\x89PNG", "an image"},
	{"\xff\xd8\xff", "an image"},
	{"GIF8", "an image"},
	{"\x1f\x8b", "compressed: unpack it first"},
	{"SQLite format 3\x00", "a SQLite database"},
	{"<!DOCTYPE", "a web page"},
	{"<!doctype", "a web page"},
	{"<html", "a web page"},
	{"<?xml", "XML"},
	{"{", "JSON"},
	{"[{", "JSON"},
}

// encodingOf reads a file to its end. It returns the encoding of the text, and the number of bytes that are invalid
// UTF-8.
func encodingOf(r io.Reader) (name string, broken int, err error) {
	b := bufio.NewReaderSize(r, 1<<16)
	head, err := b.Peek(4096)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", 0, err
	}
	if name, err = encodingOfHead(head); name != "" || err != nil {
		return name, 0, err
	}
	valid := 0
	for {
		c, size, err := b.ReadRune()
		switch {
		case errors.Is(err, io.EOF) && broken > valid:
			return Windows1252, 0, nil
		case errors.Is(err, io.EOF):
			return UTF8, broken, nil
		case err != nil:
			return "", 0, err
		case c == 0:
			return "", 0, fmt.Errorf("%w: it has bytes that no text has", ErrNotCSV)
		case c == utf8.RuneError && size == 1:
			broken++
		case size > 1:
			valid++
		}
	}
}

// encodingOfHead detects UTF-16 and files of other types by the beginning of a file. An empty name means UTF-8 or
// Windows-1252.
func encodingOfHead(head []byte) (string, error) {
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	for _, m := range magics {
		if bytes.HasPrefix(text, []byte(m.begin)) {
			return "", fmt.Errorf("%w but %s", ErrNotCSV, m.what)
		}
	}
	switch {
	case len(text) == 0:
		return "", fmt.Errorf("%w: it is empty", ErrNotCSV)
	case bytes.HasPrefix(head, []byte("\xff\xfe")):
		return UTF16LE, nil
	case bytes.HasPrefix(head, []byte("\xfe\xff")):
		return UTF16BE, nil
	}
	var zeros [2]int // text of western scripts in UTF-16 has a zero in every other byte
	for i, c := range head {
		if c == 0 {
			zeros[i%2]++
		}
	}
	switch half := len(head) / 2; {
	case zeros[1] > half*3/4 && zeros[0] == 0:
		return UTF16LE, nil
	case zeros[0] > half*3/4 && zeros[1] == 0:
		return UTF16BE, nil
	}
	return "", nil
}
