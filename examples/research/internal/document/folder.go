package document

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"time"
)

// ErrNotFound is returned for a document that the user does not have.
var ErrNotFound = errors.New("document: not found")

// A File is a document with its text.
type File struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Text string `json:"text"`
}

// A Folder keeps documents as files, in one folder for each user. It is safe for concurrent use.
type Folder struct{ root *os.Root }

// OpenFolder opens a folder, and makes it if there is none.
func OpenFolder(path string) (*Folder, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return &Folder{root}, nil
}

// Close closes the folder.
func (f *Folder) Close() error { return f.root.Close() }

// plain matches ids of users and documents that are safe in a path.
var plain = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)

// Add stores the text of a document of a user.
func (f *Folder) Add(user, name, text string) (File, error) {
	file := File{ID: rand.Text(), Name: name, Text: text}
	data, err := json.Marshal(file)
	if err != nil {
		return File{}, err
	}
	if !plain.MatchString(user) {
		return File{}, fmt.Errorf("document: user %q: %w", user, fs.ErrInvalid)
	}
	if err := f.root.Mkdir(user, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return File{}, err
	}
	// A program that is killed leaves no part of a document under its name.
	path := user + "/" + file.ID
	if err := f.root.WriteFile(path+".new", data, 0o600); err != nil {
		return File{}, errors.Join(err, f.root.Remove(path+".new"))
	}
	return file, f.root.Rename(path+".new", path+".json")
}

// Load returns a document of a user, or [ErrNotFound].
func (f *Folder) Load(user, id string) (File, error) {
	if !plain.MatchString(user) || !plain.MatchString(id) {
		return File{}, ErrNotFound
	}
	data, err := f.root.ReadFile(user + "/" + id + ".json")
	if errors.Is(err, fs.ErrNotExist) {
		return File{}, ErrNotFound
	}
	var file File
	if err == nil {
		err = json.Unmarshal(data, &file)
	}
	if err != nil {
		return File{}, fmt.Errorf("document: %w", err)
	}
	return file, nil
}

// Remove removes a document of a user, if there is one.
func (f *Folder) Remove(user, id string) error {
	if !plain.MatchString(user) || !plain.MatchString(id) {
		return nil
	}
	err := f.root.Remove(user + "/" + id + ".json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// CleanUp removes documents that are older than age. A run that has loaded its document does not need the file any
// more.
func (f *Folder) CleanUp(age time.Duration) error {
	return fs.WalkDir(f.root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) || err == nil && time.Since(info.ModTime()) < age {
			return nil
		}
		return errors.Join(err, f.root.Remove(path))
	})
}
