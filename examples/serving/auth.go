package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/weft-go/weft/server"
)

// docs:begin tokens

// tokens returns a function that finds the user of a request by its token. The text has the tokens
// and their users: "token=ann,token2=bob". The user "ops" may read the metrics, and the threads of
// all users. The user "operator" may also answer, run and cancel them.
func tokens(text string) (func(*http.Request) (server.User, error), error) {
	users := map[[sha256.Size]byte]server.User{} // the time of a look-up by hash reveals nothing about a token
	for pair := range strings.SplitSeq(text, ",") {
		token, user, ok := strings.Cut(pair, "=")
		if !ok || token == "" || user == "" {
			return nil, errors.New("TOKENS: each entry is token=user")
		}
		u := server.User{ID: user}
		switch user {
		case "ops":
			u.Permissions = []string{"metrics", "all threads"}
		case "operator":
			u.Permissions = []string{"metrics", "all threads", server.PermissionOperate}
		}
		users[sha256.Sum256([]byte(token))] = u
	}
	return func(r *http.Request) (server.User, error) {
		token := r.Header.Get("X-Api-Key") // the header of LangGraph's SDKs
		if scheme, rest, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
			token = rest
		}
		u, ok := users[sha256.Sum256([]byte(token))]
		if !ok {
			return server.User{}, errors.New("no user has this token")
		}
		return u, nil
	}, nil
}

// docs:end

// authorize gives users access to their own objects. A user with the permission may also read the
// metrics, or all threads and runs. An operator may also update all threads and runs, and start
// runs.
func authorize(_ context.Context, a server.Access) (server.Filter, error) {
	own := server.Filter{Owner: a.User.ID}
	may := func(permission string) bool { return slices.Contains(a.User.Permissions, permission) }
	reads := a.Action == server.ActionRead || a.Action == server.ActionSearch
	operates := a.Action == server.ActionUpdate || a.Action == server.ActionCreateRun
	switch {
	case a.Resource == server.ResourceMetrics && !may("metrics"):
		return own, &server.Refusal{Status: http.StatusForbidden, Detail: "Only those who look after the server read its metrics."}
	case a.Resource != server.ResourceThreads && a.Resource != server.ResourceRuns:
	case reads && may("all threads"), operates && may(server.PermissionOperate):
		return server.Filter{}, nil
	}
	return own, nil
}
