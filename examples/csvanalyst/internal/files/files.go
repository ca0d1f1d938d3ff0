package files

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"unicode"

	"github.com/weft-go/weft/examples/csvanalyst/internal/csvdb"
	"github.com/weft-go/weft/examples/csvanalyst/internal/records"
)

// MaxImages is the maximum number of bytes of all images of a message.
const MaxImages = 4 << 20

// Conditions that errors wrap. Use errors.Is.
var (
	ErrLarge    = fmt.Errorf("images may have %d MiB together", MaxImages>>20)
	ErrNotFound = errors.New("there is no such file in this session")
	ErrImage    = errors.New("only PNG, JPEG, GIF and WebP images can be used")
)

// A Store keeps uploads below a folder: each file unchanged, and a database for each CSV file. It names files by
// ids, never by the names that users give.
type Store struct {
	folder   string
	records  *records.DB
	arriving atomic.Int64 // bytes of uploads that are not in the records yet
}

// Open makes the folder, and removes the remains of uploads that were cut off.
func Open(folder string, r *records.DB) (*Store, error) {
	if err := os.MkdirAll(filepath.Join(folder, "files"), 0o700); err != nil {
		return nil, err
	}
	for _, pattern := range []string{"*.part", "*.half"} {
		left, err := filepath.Glob(filepath.Join(folder, "files", pattern))
		if err != nil {
			return nil, err
		}
		for _, path := range left {
			if err := os.Remove(path); err != nil {
				return nil, err
			}
		}
	}
	return &Store{folder: folder, records: r}, nil
}

// path returns the path of a resource's content. It refuses a record whose path leads out of the folder.
func (f *Store) path(r records.Resource) (string, error) {
	if !filepath.IsLocal(r.StoredPath) {
		return "", fmt.Errorf("files: the path of %s leads out of the folder", r.ID)
	}
	return filepath.Join(f.folder, r.StoredPath), nil
}

// Add stores an upload as a resource of a session. If Add fails, it leaves no file.
func (f *Store) Add(ctx context.Context, session, name string, content io.Reader) (r records.Resource, err error) {
	if err := f.records.Room(ctx, session, 1); err != nil { // before the content is read
		return r, err
	}
	r = records.Resource{ID: records.NewID(), SessionID: session, OriginalName: cleanName(name), MIMEType: "text/csv"}
	up := &upload{r: content, store: f, room: func(bytes int64) error { return f.records.Room(ctx, session, bytes) }}
	defer up.end()
	head := bufio.NewReaderSize(up, 512)
	begin, err := head.Peek(512)
	if err != nil && !errors.Is(err, io.EOF) {
		return r, err
	}
	ending := ".csv"
	if kind := ImageType(begin); kind != "" {
		r.MIMEType, ending = kind, ".image"
	}
	r.StoredPath = filepath.Join("files", r.ID+ending)
	path := filepath.Join(f.folder, r.StoredPath)
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Remove(r))
		}
	}()
	if r.SizeBytes, err = write(path, head, r.MIMEType); err != nil {
		return r, err
	}
	if ending == ".csv" {
		if _, err = csvdb.Import(ctx, path, path+".db"); err != nil {
			return r, err
		}
	}
	return r, f.records.CreateResource(ctx, r)
}

// roomStep is the number of bytes of an upload after which its room is checked again.
const roomStep = 1 << 20

// An upload is a reader that fails when there is no room for all current uploads.
type upload struct {
	r              io.Reader
	store          *Store
	room           func(bytes int64) error
	bytes, checked int64
}

func (u *upload) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	u.bytes += int64(n)
	arriving := u.store.arriving.Add(int64(n))
	if u.bytes-u.checked >= roomStep {
		u.checked = u.bytes
		if full := u.room(arriving); full != nil {
			return 0, full
		}
	}
	return n, err
}

// end subtracts the bytes from arriving, when the upload is in the records or has failed.
func (u *upload) end() { u.store.arriving.Add(-u.bytes) }

// write stores the content in a temporary file, and then renames the file to path.
func write(path string, content io.Reader, kind string) (int64, error) {
	part := path + ".part"
	out, err := os.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.Remove(part) }() // only a failed upload leaves this file
	if kind != "text/csv" {
		content = io.LimitReader(content, MaxImages+1)
	}
	n, err := io.Copy(out, content)
	if err = errors.Join(err, out.Close()); err != nil {
		return n, err
	}
	if kind != "text/csv" && n > MaxImages {
		return n, ErrLarge
	}
	return n, os.Rename(part, path)
}

// Remove removes the content of a resource.
func (f *Store) Remove(r records.Resource) error {
	path, err := f.path(r)
	if err != nil {
		return err
	}
	for _, name := range []string{path, path + ".db"} {
		if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// find returns a resource of a session, by its id or name. If several have the name, find returns the newest.
func (f *Store) find(ctx context.Context, session, file string) (records.Resource, error) {
	all, err := f.records.Resources(ctx, session)
	if err != nil {
		return records.Resource{}, err
	}
	found := records.Resource{}
	for _, r := range all {
		if r.ID == file {
			return r, nil
		}
		if strings.EqualFold(r.OriginalName, file) {
			found = r
		}
	}
	if found.ID == "" {
		return found, fmt.Errorf("%w: %q", ErrNotFound, file)
	}
	return found, nil
}

// Database opens the database of a file of a session, given by its id or name. The
// caller closes it.
func (f *Store) Database(ctx context.Context, session, file string) (*csvdb.DB, error) {
	r, err := f.find(ctx, session, file)
	if err != nil {
		return nil, err
	}
	return f.open(ctx, r)
}

func (f *Store) open(ctx context.Context, r records.Resource) (*csvdb.DB, error) {
	path, err := f.path(r)
	if err != nil {
		return nil, err
	}
	return csvdb.Open(ctx, path+".db")
}

// Schema returns the schema of a CSV file.
func (f *Store) Schema(ctx context.Context, r records.Resource) (csvdb.Schema, error) {
	db, err := f.open(ctx, r)
	if err != nil {
		return csvdb.Schema{}, err
	}
	defer db.Close()
	return db.Schema, nil
}

// Image reads an image of a session.
func (f *Store) Image(ctx context.Context, session, file string) (records.Image, error) {
	r, err := f.find(ctx, session, file)
	if err != nil {
		return records.Image{}, err
	}
	path, err := f.path(r)
	if err != nil {
		return records.Image{}, err
	}
	data, err := os.ReadFile(path)
	return records.Image{Data: data, MIMEType: r.MIMEType, OriginalName: r.OriginalName}, err
}

// IsCSV reports whether a resource is a CSV file, by its type or the end of its name.
func IsCSV(r records.Resource) bool {
	return r.MIMEType == "text/csv" || r.MIMEType == "application/csv" || strings.HasSuffix(strings.ToLower(r.OriginalName), ".csv")
}

// CheckImages sets the type of each image of a message by its content. It returns [ErrImage] for any other content,
// and [ErrLarge] for too many bytes.
func CheckImages(images []records.Image) error {
	total := 0
	for i := range images {
		if images[i].MIMEType = ImageType(images[i].Data); images[i].MIMEType == "" {
			return ErrImage
		}
		if total += len(images[i].Data); total > MaxImages {
			return ErrLarge
		}
	}
	return nil
}

// Delete removes a resource of a session with its content.
func (f *Store) Delete(ctx context.Context, session, id string) error {
	r, err := f.find(ctx, session, id)
	if err != nil {
		return err
	}
	return errors.Join(f.records.DeleteResource(ctx, r.ID), f.Remove(r))
}

// DeleteSession removes a session with its messages and the contents of its files.
func (f *Store) DeleteSession(ctx context.Context, session string) error {
	all, err := f.records.Resources(ctx, session)
	if err != nil {
		return err
	}
	err = f.records.DeleteSession(ctx, session)
	for _, r := range all {
		err = errors.Join(err, f.Remove(r))
	}
	return err
}

// ImageType returns the type of an image by its content, or "" for any other content.
func ImageType(begin []byte) string {
	switch kind := http.DetectContentType(begin); kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return kind
	}
	return ""
}

// cleanName returns the last part of a path, without characters that cannot be printed.
func cleanName(name string) string {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.TrimSpace(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, "")))
	if r := []rune(name); len(r) > 200 {
		name = string(r[len(r)-200:])
	}
	if strings.Trim(name, ".") == "" {
		return "upload.csv"
	}
	return name
}
