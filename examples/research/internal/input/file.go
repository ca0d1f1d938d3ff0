package input

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/weft-go/weft/examples/research/internal/document"
	"github.com/weft-go/weft/server"
)

// uploadTime is the maximum time for a client to send a file.
const uploadTime = 10 * time.Minute

// ReadFile reads the field "file" of a form, and returns the name of the file and its text.
func ReadFile(r *http.Request, reader document.Reader) (name, text string, err error) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "multipart/form-data" {
		return "", "", Refuse(http.StatusUnsupportedMediaType, "The content type has to be multipart/form-data, with a field file.", nil)
	}
	if err := server.AllowBody(r, document.MaxUpload, uploadTime); err != nil {
		return "", "", err
	}
	form, err := r.MultipartReader()
	if err != nil {
		return "", "", Invalid(err.Error())
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
	return Invalid(map[string]string{"file": "is missing, or the form broke off"})
}
