package input

import (
	"encoding/json"
	"net/http"

	"github.com/weft-go/weft/examples/research/internal/account"
)

// A Research is a request that continues a session, if it names a thread, or begins one.
type Research struct {
	ThreadID               *string
	ProposalID, DocumentID string
}

// ReadResearch reads {"threadId"} or {"proposalId", "documentId"}, and ignores other fields. The error says what is
// wrong with each field.
func ReadResearch(w http.ResponseWriter, r *http.Request) (Research, error) {
	var fields map[string]json.RawMessage
	if err := Read(w, r, &fields); err != nil {
		return Research{}, err
	}
	if fields == nil {
		return Research{}, Invalid("the body is null, and has to be an object")
	}
	wrong := map[string]string{}
	text := func(name string) string {
		var s *string
		if err := json.Unmarshal(fields[name], &s); fields[name] == nil {
			wrong[name] = "is missing"
		} else if err != nil || s == nil {
			wrong[name] = "has to be a text"
		} else {
			return *s
		}
		return ""
	}
	var in Research
	if _, ok := fields["threadId"]; ok {
		id := text("threadId")
		in.ThreadID = &id
	} else {
		in.ProposalID, in.DocumentID = text("proposalId"), text("documentId")
		if wrong["proposalId"] == "" && !account.IsUUID(in.ProposalID) {
			wrong["proposalId"] = "has to be a UUID"
		}
		if wrong["documentId"] == "" && in.DocumentID == "" {
			wrong["documentId"] = "is empty"
		}
	}
	if len(wrong) > 0 {
		return Research{}, Invalid(wrong)
	}
	return in, nil
}
