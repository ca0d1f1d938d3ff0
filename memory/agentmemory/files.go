package agentmemory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/weft-go/weft/graph/agent/deep"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/extract"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// filesLabel is the label of the namespace of files.
const filesLabel = "files"

// maxFiles is the largest number of files in a list.
const maxFiles = 1000

// Files returns files that are values of a memory, in the namespace "files" of the scope of the
// run; see [For]. All threads of a user share them, and they are forgotten with the user. A file
// has at most [memory.MaxValue] bytes as JSON. If two threads change one file at the same time, the
// last write wins. A run whose scope has no user gets an error.
func Files(m *memory.Memory) deep.Files { return files{m} }

type files struct{ m *memory.Memory }

type fileValue struct {
	Text string `json:"text"`
}

func (files) Channels() []state.Handle { return nil }

func (f files) namespace(ctx context.Context) (memory.Namespace, error) {
	scope, ok := tools.BoundFrom[memory.Scope](ctx)
	switch {
	case !ok:
		return memory.Namespace{}, fmt.Errorf("agentmemory: files: no scope: %w", tools.ErrUnbound)
	case scope.User == "":
		return memory.Namespace{}, fmt.Errorf("agentmemory: files: scope %s: %w", scope, extract.ErrNoUser)
	}
	return f.m.Values().In(scope, filesLabel), nil
}

func (f files) List(ctx context.Context, _ state.View, dir string) (list []deep.File, err error) {
	n, err := f.namespace(ctx)
	if err != nil {
		return nil, err
	}
	prefix := strings.TrimSuffix(dir, "/") + "/"
	for item, err := range n.List(ctx, memory.ValueQuery{Own: true, KeyPrefix: prefix, Order: memory.ByKey, Limit: maxFiles + 1, Peek: true}) {
		if err != nil {
			return nil, err
		}
		if len(list) == maxFiles {
			return nil, fmt.Errorf("%s: %w: it has more than %d files; list a folder below it", dir, deep.ErrTooLarge, maxFiles)
		}
		text, err := textOf(item)
		if err != nil {
			return nil, err
		}
		list = append(list, deep.File{Name: item.Key, Size: len(text)})
	}
	return list, nil
}

func (f files) Read(ctx context.Context, _ state.View, name string) (string, error) {
	n, err := f.namespace(ctx)
	if err != nil {
		return "", err
	}
	item, err := n.Get(ctx, name)
	if errors.Is(err, memory.ErrNotFound) {
		return "", &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist}
	}
	if err != nil {
		return "", err
	}
	return textOf(item)
}

func textOf(item memory.Item) (string, error) {
	var v fileValue
	if err := json.Unmarshal(item.Value, &v); err != nil {
		return "", fmt.Errorf("%s: %w: %w", item.Key, deep.ErrNotText, err)
	}
	return v.Text, nil
}

func (f files) Write(ctx context.Context, _ state.View, name, text string) (state.Update, error) {
	n, err := f.namespace(ctx)
	if err != nil {
		return nil, err
	}
	value, err := json.Marshal(fileValue{text})
	switch {
	case err != nil:
		return nil, err
	case len(value) > memory.MaxValue:
		return nil, fmt.Errorf("%s: %w: the limit is %d bytes", name, deep.ErrTooLarge, memory.MaxValue)
	}
	_, err = n.Put(ctx, name, value, memory.PutOptions{NoIndex: true})
	return nil, err
}
