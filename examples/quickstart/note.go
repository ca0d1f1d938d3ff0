package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// A note is a text for the notes file. It is the prompt of the question to the user.
type note struct {
	Text string `json:"text"`
	File string `json:"file"`
}

// append adds the note to its file and creates the file if necessary. It does nothing
// if the file has a note with the same key.
func (n note) append(key string) (err error) {
	f, err := os.OpenFile(n.File, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	before, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	mark := fmt.Sprintf("<!-- note %x -->\n", sha256.Sum256([]byte(key)))
	if bytes.Contains(before, []byte(mark)) {
		return nil
	}
	entry := "- " + strings.ReplaceAll(n.Text, "\n", "\n  ") + "\n  " + mark
	if len(before) > 0 && !bytes.HasSuffix(before, []byte("\n")) {
		entry = "\n" + entry
	}
	// One write, so that a process that dies leaves all of the note or none.
	_, err = f.WriteString(entry)
	return err
}
