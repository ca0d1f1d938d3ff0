package deep

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/weft-go/weft/state"
)

// Mount joins several trees of files. The keys of at are folders, such as "/project". The files
// of a tree are below its folder. Other names belong to root. If one folder is inside another,
// the inner one has the files below it. Mount panics if a key is not the name of a folder.
//
//	deep.Mount(deep.State(), map[string]deep.Files{"/project": deep.Dir(root)})
func Mount(root Files, at map[string]Files) Files {
	m := mounted{root: root, at: map[string]Files{}}
	for dir, files := range at {
		name, err := clean(dir)
		if err != nil || name == "/" {
			panic(fmt.Sprintf("deep: Mount: %q is not the name of a folder", dir))
		}
		m.at[name] = files
	}
	m.dirs = slices.SortedFunc(maps.Keys(m.at), func(a, b string) int { return len(b) - len(a) })
	return m
}

type mounted struct {
	root Files
	at   map[string]Files
	dirs []string // longest first
}

func (m mounted) Channels() []state.Handle {
	all := m.root.Channels()
	for _, files := range m.at {
		for _, h := range files.Channels() {
			if !slices.Contains(all, h) {
				all = append(slices.Clip(all), h)
			}
		}
	}
	return all
}

// find returns the tree of a name, the name in this tree, and the folder of the tree.
func (m mounted) find(name string) (files Files, inner, dir string) {
	for _, dir := range m.dirs {
		if name == dir || below(name, dir) {
			return m.at[dir], path.Clean("/" + strings.TrimPrefix(name, dir)), dir
		}
	}
	return m.root, name, "/"
}

func (m mounted) List(ctx context.Context, s state.View, dir string) ([]File, error) {
	files, inner, at := m.find(dir)
	all, err := files.List(ctx, s, inner)
	if err != nil {
		return nil, err
	}
	for i := range all {
		all[i].Name = path.Join(at, all[i].Name)
	}
	all = slices.DeleteFunc(all, func(f File) bool { // a tree hides files of the root
		_, _, owner := m.find(f.Name)
		return owner != at
	})
	for _, other := range m.dirs {
		if other != at && below(other, dir) {
			more, err := m.at[other].List(ctx, s, "/")
			if err != nil {
				return nil, err
			}
			for _, f := range more {
				f.Name = path.Join(other, f.Name)
				if _, _, owner := m.find(f.Name); owner == other {
					all = append(all, f)
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

func (m mounted) Read(ctx context.Context, s state.View, name string) (string, error) {
	files, inner, _ := m.find(name)
	return files.Read(ctx, s, inner)
}

func (m mounted) Write(ctx context.Context, s state.View, name, text string) (state.Update, error) {
	files, inner, _ := m.find(name)
	return files.Write(ctx, s, inner, text)
}

func (m mounted) edit(ctx context.Context, s state.View, e edit) (state.Update, error) {
	files, inner, _ := m.find(e.name)
	e.name = inner
	return store(ctx, s, files, e)
}

// store stores an edit in files.
func store(ctx context.Context, s state.View, files Files, e edit) (state.Update, error) {
	if ed, ok := files.(editor); ok {
		return ed.edit(ctx, s, e)
	}
	return files.Write(ctx, s, e.name, e.result)
}
