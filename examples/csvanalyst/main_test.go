package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/weft-go/weft/examples/csvanalyst/internal/api"
	"github.com/weft-go/weft/examples/csvanalyst/internal/offline"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/llm"
)

func TestMain(m *testing.M) {
	if os.Getenv(childFolder) != "" {
		main()
		return
	}
	// Google's client, which one test opens, keeps connecting and can not be closed.
	goleak.VerifyTestMain(pgtest.Main(m),
		goleak.IgnoreAnyFunction("google.golang.org/grpc/internal/grpcsync.(*CallbackSerializer).run"),
		goleak.IgnoreAnyFunction("google.golang.org/grpc.(*addrConn).resetTransportAndUnlock"))
}

const sales = `id,city,product,amount,day
1,Athens,cup,10,2024-01-01
2,Bern,plate,20.5,2024-01-02
3,Zürich,cup,5,2024-01-03
4,Athens,bowl,40,2024-02-04
5,New York,cup,3,2024-02-05
`

// app is a running program with a client.
type app struct {
	t       *testing.T
	url     string
	client  *http.Client
	token   string
	folder  string
	stop    func()
	stopped <-chan error
}

// start runs the program in a folder. It ends with the test at the latest.
func start(t *testing.T, folder string, model llm.Model) *app {
	t.Helper()
	return startWith(t, config{folder: folder, maxUpload: 1 << 20, logger: slog.New(slog.DiscardHandler)}, model)
}

func startWith(t *testing.T, c config, model llm.Model) *app {
	t.Helper()
	s, finish, err := open(t.Context(), c, model)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() {
		stopped <- errors.Join(s.Serve(ctx, l, nil), finish())
	}()
	a := &app{t: t, url: "http://" + l.Addr().String(), client: &http.Client{Transport: &http.Transport{}}, folder: c.folder, stop: stop, stopped: stopped}
	t.Cleanup(a.end)
	return a
}

// end stops the program; a second call does nothing.
func (a *app) end() {
	a.client.CloseIdleConnections()
	if a.stop == nil {
		return
	}
	a.stop()
	a.stop = nil
	if err := <-a.stopped; err != nil {
		a.t.Errorf("the program ended with %v", err)
	}
}

// reply is an answer, read to its end.
type reply struct {
	status int
	body   string
	header http.Header
}

// do sends a request. Headers are given as "Name: value".
func (a *app) do(method, path, body string, headers ...string) reply {
	a.t.Helper()
	r, err := http.NewRequestWithContext(a.t.Context(), method, a.url+path, strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	if a.token != "" {
		r.Header.Set("Authorization", "Bearer "+a.token)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	res, err := a.client.Do(r)
	if err != nil {
		a.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		a.t.Fatalf("%s %s: %v after %s", method, path, err, text)
	}
	return reply{res.StatusCode, string(text), res.Header}
}

func (a *app) json(method, path, body string, headers ...string) reply {
	a.t.Helper()
	return a.do(method, path, body, append(headers, "Content-Type: application/json")...)
}

// session makes a session and returns its id.
func (a *app) session() string {
	a.t.Helper()
	r := a.json("POST", "/api/sessions", "{}")
	var s api.Session
	if err := json.Unmarshal([]byte(r.body), &s); err != nil || r.status != http.StatusCreated {
		a.t.Fatalf("POST /api/sessions: %d %s", r.status, r.body)
	}
	return s.ID
}

func (a *app) upload(session, name, content string) reply {
	a.t.Helper()
	return a.uploadTo("/api/sessions/"+session+"/resources", name, content)
}

func (a *app) uploadTo(address, name, content string) reply {
	a.t.Helper()
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	part, err := form.CreateFormFile("file", name)
	if err != nil {
		a.t.Fatal(err)
	}
	if _, err := io.WriteString(part, content); err != nil {
		a.t.Fatal(err)
	}
	if err := form.Close(); err != nil {
		a.t.Fatal(err)
	}
	return a.do("POST", address, b.String(), "Content-Type: "+form.FormDataContentType())
}

// withFile makes a session with a file.
func (a *app) withFile(name, content string) string {
	a.t.Helper()
	id := a.session()
	if r := a.upload(id, name, content); r.status != http.StatusCreated {
		a.t.Fatalf("the upload: %d %s", r.status, r.body)
	}
	return id
}

// ask sends a question and returns the answer.
func (a *app) ask(session, question string) string {
	a.t.Helper()
	body, err := json.Marshal(map[string]string{"message": question})
	if err != nil {
		a.t.Fatal(err)
	}
	r := a.json("POST", "/api/sessions/"+session+"/messages", string(body))
	if r.status != http.StatusOK {
		a.t.Fatalf("%s: %d %s", question, r.status, r.body)
	}
	return r.body
}

func TestQuestions(t *testing.T) {
	t.Parallel()
	a := start(t, t.TempDir(), offline.Model{})
	id := a.withFile("sales.csv", sales)
	tests := []struct{ question, want string }{
		{"How many rows are there?", "There are 5 rows in sales.csv."},
		{"What is the total amount?", "The total amount is 78.5, in sales.csv."},
		{"what's the average amount by city?", "The average amount by city, in sales.csv:\n- Athens: 25\n- Bern: 20.5\n- Zürich: 5\n- New York: 3"},
		{"How many sales are there in Athens?", "There are 2 rows in sales.csv where city is Athens."},
		{"total amount of cup in New York", "The total amount is 3, in sales.csv where product is cup and city is New York."},
		{"which city has the highest total amount?", "Athens has the highest total amount: 50.\n\nThe total amount by city, in sales.csv:\n- Athens: 50"},
		{"which product has the highest number of sales?", "cup has the highest number of rows: 3."},
		{"What is the highest amount?", "The highest amount is 40, in sales.csv:\n- 4, Athens, bowl, 40, 2024-02-04"},
		{"median amount", "The median amount is 10, in sales.csv."},
		{"how many different cities are there?", `I did not understand "cities", "different".`},
		{"top 2 rows by amount", "sales.csv has 5 rows; here are 2 with the highest amount:\n- 4, Athens, bowl, 40, 2024-02-04\n- 2, Bern"},
		{"show rows where amount is over 10", "sales.csv has 2 rows where amount is above 10:"},
		{"how many rows with amount over 5 and amount under 30", "There are 2 rows in sales.csv where amount is above 5 and amount is below 30."},
		{"how many rows where day is after 2024-01-31", "There are 2 rows in sales.csv where day is after 2024-01-31."},
		{"how many rows where city is New York?", "There is 1 row in sales.csv where city is New York."},
		{"rows where city contains zür", `I did not understand "contains", "zür".`},
		{"compare the total amount of Athens and Bern", "The total amount by city, in sales.csv where city is Athens or Bern:\n- Athens: 50\n- Bern: 20.5"},
		{"describe the columns", "sales.csv has 5 rows and 5 columns:\n- id: integer\n- city: text: Athens, Bern, New York, Zürich\n- product: text: bowl, cup, plate\n- amount: real\n- day: date, from 2024-01-01 to 2024-02-05"},
		{"how many rows are in Atlantis?", "I did not understand \"Atlantis\"."},
		{"total amount by month", "The total amount by day (month), in sales.csv:\n- January 2024: 35.5\n- February 2024: 43"},
		{"and in Bern?", "Ask the whole question again."},
		{"hello", "I did not understand \"hello\". A value that I do not know needs its column and quotation marks, such as: name is \"Ann\". I am a set of rules and not a language model; the README says how to choose one. The columns of sales.csv are id, city, product, amount, day.\nAsk me, for example:"},
	}
	for _, tt := range tests {
		if got := a.ask(id, tt.question); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s\ngot  %s\nwant %s", tt.question, got, tt.want)
		}
	}
}
