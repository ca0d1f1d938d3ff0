package api

import (
	"errors"
	"io"
	"iter"
	"net/http"
	"strings"
	"time"

	"github.com/weft-go/weft/examples/csvanalyst/internal/analyst"
	"github.com/weft-go/weft/examples/csvanalyst/internal/files"
	"github.com/weft-go/weft/examples/csvanalyst/internal/records"
	"github.com/weft-go/weft/examples/internal/jsonhttp"
)

func (s *Routes) messages(w http.ResponseWriter, r *http.Request) error {
	session, err := s.session(r)
	if err != nil {
		return err
	}
	rows, err := s.Records.Messages(r.Context(), session.ID)
	if err != nil {
		return err
	}
	type said struct {
		Role      string    `json:"role"`
		Content   string    `json:"content"`
		Images    int       `json:"images,omitempty"`
		CreatedAt time.Time `json:"createdAt"`
	}
	out := []said{}
	for _, m := range rows {
		out = append(out, said{m.Role, m.Content, len(m.Images), m.CreatedAt})
	}
	return jsonhttp.Write(w, http.StatusOK, out)
}

// say runs the graph for a message, and streams the text of the model.
func (s *Routes) say(w http.ResponseWriter, r *http.Request) error {
	session, err := s.ownSession(r)
	if err != nil {
		return err
	}
	t := analyst.Turn{User: session.UserID, Session: session.ID}
	if t.Text, t.Images, err = s.readMessage(w, r, session.ID); err != nil {
		return err
	}
	return tokens(w, s.StreamAgent(r.Context(), t))
}

// resume resumes a run that did not finish, and streams the text of the model.
func (s *Routes) resume(w http.ResponseWriter, r *http.Request) error {
	session, err := s.ownSession(r)
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, r.Body); err != nil { // the read deadline of an unread body would limit the answer
		return err
	}
	return tokens(w, analyst.Words(s.Resume(r.Context(), session.UserID, session.ID)))
}

func (s *Routes) readMessage(w http.ResponseWriter, r *http.Request, session string) (string, []records.Image, error) {
	var in struct {
		Message string `json:"message"`
		Images  []struct {
			records.Image
			Resource string `json:"resourceId"` // an image that was uploaded
		} `json:"images"`
	}
	if err := jsonhttp.Read(w, r, &in, 2*files.MaxImages); err != nil {
		return "", nil, err
	}
	switch text := strings.TrimSpace(in.Message); {
	case text == "":
		return "", nil, jsonhttp.Refuse(http.StatusBadRequest, "The message is empty.")
	case len(text) > MaxMessage:
		return "", nil, jsonhttp.Refuse(http.StatusRequestEntityTooLarge, "A message may have at most %d bytes.", MaxMessage)
	}
	var images []records.Image
	for _, one := range in.Images {
		image := one.Image
		if one.Resource != "" {
			var err error
			if image, err = s.Files.Image(r.Context(), session, one.Resource); err != nil {
				return "", nil, err
			}
		}
		images = append(images, image)
	}
	return in.Message, images, files.CheckImages(images)
}

// tokens streams a text to the client. After the first piece, an error can only abort the response.
func tokens(w http.ResponseWriter, deltas iter.Seq2[string, error]) error {
	begun := false
	for text, err := range deltas {
		if err != nil && !begun {
			return err
		}
		if err != nil {
			panic(http.ErrAbortHandler) // so that the client does not take a part for the whole answer
		}
		if !begun {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		}
		begun = true
		_, err = io.WriteString(w, text)
		if err = errors.Join(err, http.NewResponseController(w).Flush()); err != nil {
			return nil //nolint:nilerr // the client has left; leaving the loop ends the run
		}
	}
	return nil
}
