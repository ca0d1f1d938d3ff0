package eval

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// ErrInvalid is the error for a data set, a scorer or an option that cannot be used.
// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#evalerrinvalid.
var ErrInvalid = errors.New("invalid evaluation")

// A Case is one example of a data set.
type Case struct {
	// Name identifies the case in reports, and must be unique. In a file, the default is "line N".
	Name string `json:"name,omitempty"`
	// Input is the input of the target: a JSON string for a question in text, or any other JSON.
	Input json.RawMessage `json:"input"`
	// Want is the expected answer, as the scorers need it. It may be empty.
	Want json.RawMessage `json:"want,omitempty"`
	// Calls are the expected tool calls, for [Trajectory].
	Calls []Call `json:"calls,omitempty"`
	// Metadata is anything else about the case.
	Metadata map[string]json.RawMessage `json:"metadata,omitempty"`
}

// A Call is an expected tool call. Without Arguments, a call with any arguments matches.
type Call struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// Text returns the input as a text: the string if Input is a JSON string, otherwise its JSON.
func (c *Case) Text() string { return textOf(c.Input) }

// WantText returns the expected answer as a text, in the same form as Text.
func (c *Case) WantText() string { return textOf(c.Want) }

func textOf(data json.RawMessage) string {
	var text *string
	if json.Unmarshal(data, &text) == nil && text != nil {
		return *text
	}
	return string(data)
}

// maxLine is the maximum number of bytes of a line.
const maxLine = 64 << 20

// Read reads a data set in JSON Lines: one [Case] a line. It returns [ErrInvalid], with the line number, if a line is
// not a case, has an unknown field or no input, or repeats the name of another case. It skips empty lines.
func Read(r io.Reader) ([]Case, error) {
	var cases []Case
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	names := map[string]int{}
	n := 0
	for lines.Scan() {
		n++
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		c, err := parse(lines.Bytes())
		if err != nil {
			return nil, fmt.Errorf("eval: read: line %d: %w: %w", n, ErrInvalid, err)
		}
		if c.Name == "" {
			c.Name = fmt.Sprintf("line %d", n)
		}
		if first, ok := names[c.Name]; ok {
			return nil, fmt.Errorf("eval: read: line %d: the case on line %d has the name %q too: %w", n, first, c.Name, ErrInvalid)
		}
		names[c.Name] = n
		cases = append(cases, c)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("eval: read: line %d: %w", n+1, err)
	}
	if len(cases) == 0 {
		return nil, fmt.Errorf("eval: read: no cases: %w", ErrInvalid)
	}
	return cases, nil
}

func parse(line []byte) (c Case, err error) {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return c, err
	}
	if d.More() {
		return c, errors.New("text after the case")
	}
	if len(c.Input) == 0 {
		return c, errors.New("the field input is missing")
	}
	return c, nil
}

// ReadFile reads a data set from a file, as [Read] does.
func ReadFile(path string) ([]Case, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("eval: read: %w", err)
	}
	cases, err := Read(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return cases, nil
}
