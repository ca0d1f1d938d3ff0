package input

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/weft-go/weft/examples/internal/web"
	"github.com/weft-go/weft/examples/research/internal/document"
)

// uploadTime is how long a client may take to send a file.
const uploadTime = 10 * time.Minute

// ReadFile reads the field "file" of a form, and returns the name of the file and its
// text. The error is a [web.Problem], or one of package document.
func ReadFile(w http.ResponseWriter, r *http.Request, reader document.Reader) (name, text string, err error) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "multipart/form-data" {
		return "", "", web.Refuse(http.StatusUnsupportedMediaType, "The content type has to be multipart/form-data, with a field file.")
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(uploadTime)) // a recorder of a test has none
	defer func() { _ = control.SetReadDeadline(time.Time{}) }()
	r.Body = http.MaxBytesReader(w, r.Body, document.MaxUpload)
	form, err := r.MultipartReader()
	if err != nil {
		return "", "", web.Invalid(err.Error())
	}
	for {
		part, err := form.NextPart()
		if err != nil {
			return "", "", broken(err)
		}
		if part.FormName() != "file" || part.FileName() == "" {
			continue
		}
		data, err := io.ReadAll(part)
		if err != nil {
			return "", "", broken(err)
		}
		text, err = reader.Text(r.Context(), data)
		return strings.ToValidUTF8(part.FileName(), "?"), text, err
	}
}

func broken(err error) error {
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return err
	}
	return web.Invalid(map[string]string{"file": "is missing, or the form broke off"})
}
