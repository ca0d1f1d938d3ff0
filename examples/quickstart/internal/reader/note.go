package reader

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// A Note is a text for the notes file. It is the prompt of the question to the user. The
// chat page shows the title and makes buttons of the schema.
type Note struct {
	Title  string          `json:"title"`
	Text   string          `json:"text"`
	File   string          `json:"file"`
	Schema json.RawMessage `json:"schema"` // of the answer
}

var yesOrNo = json.RawMessage(`{"type":"string","enum":["yes","no"]}`)

// append adds the note to its file and creates the file if necessary. It does nothing
// if the file has a note with the same key.
func (n Note) append(key string) (err error) {
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

// CheckFolder returns an error if path is not a folder.
func CheckFolder(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder", path)
	}
	return err
}
