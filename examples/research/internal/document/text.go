package document

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
	"unicode/utf8"
)

// MaxUpload is how many bytes a file may have, and MaxText how many its text.
const (
	MaxUpload = 32 << 20
	MaxText   = 4 << 20
)

// pdfTime is how long a PDF may take to be read.
const pdfTime = 30 * time.Second

var (
	// ErrUnreadable says that a file has no text that can be read.
	ErrUnreadable = errors.New("the file can not be read")
	// ErrLarge says that a text is longer than [MaxText].
	ErrLarge = fmt.Errorf("the text has more than %d bytes", MaxText)
)

// A Reader makes texts of files.
type Reader struct {
	// PDF is the program that reads a PDF from its standard input and writes its
	// text to its standard output. Empty stands for pdftotext, of Poppler.
	PDF []string
}

// Text returns the text of a file: of UTF-8 as it is, of a PDF what the program for
// that finds. A program of its own, with a time limit, since a file that is made to
// do so can keep a PDF library busy for ever.
func (r Reader) Text(ctx context.Context, data []byte) (string, error) {
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	if bytes.HasPrefix(data, []byte("%PDF-")) {
		var err error
		if data, err = r.pdf(ctx, data); err != nil {
			return "", err
		}
	}
	switch {
	case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		return "", fmt.Errorf("%w: it is neither text in UTF-8 nor a PDF", ErrUnreadable)
	case len(data) > MaxText:
		return "", ErrLarge
	case len(bytes.TrimSpace(data)) == 0:
		return "", fmt.Errorf("%w: it has no text", ErrUnreadable)
	}
	return strings.ReplaceAll(strings.ReplaceAll(string(data), "\r\n", "\n"), "\f", "\n"), nil
}

func (r Reader) pdf(ctx context.Context, data []byte) ([]byte, error) {
	program := r.PDF
	if len(program) == 0 {
		program = []string{"pdftotext", "-enc", "UTF-8", "-", "-"}
	}
	limited, cancel := context.WithTimeout(ctx, pdfTime)
	defer cancel()
	cmd := exec.CommandContext(limited, program[0], program[1:]...)
	cmd.Stdin = bytes.NewReader(data)
	cmd.WaitDelay = time.Second
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); errors.Is(err, exec.ErrNotFound) {
		return nil, fmt.Errorf("%w: it is a PDF, and %s is not installed here; upload its text", ErrUnreadable, program[0])
	} else if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(pipe, MaxText+1))
	if len(text) > MaxText {
		cancel() // there is no need for the rest
	}
	wait := cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case len(text) > MaxText:
		return nil, ErrLarge
	case err != nil || wait != nil:
		return nil, fmt.Errorf("%w: it is not a PDF that %s can read", ErrUnreadable, program[0])
	}
	return text, nil
}
