package analyst

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/examples/csvanalyst/internal/records"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// scratch returns a thread of a graph over the state. Its only node does nothing.
func scratch(t *testing.T) *graph.Thread {
	t.Helper()
	b := graph.New("scratch", sessionID, messages, csvMetadata, currentQuery, currentQueryImages)
	b.Node("nothing", nothing)
	b.Edge(graph.Start, "nothing")
	b.Edge("nothing", graph.End)
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		t.Fatal(err)
	}
	return g.Thread("t")
}

func TestStateFieldsAndDefaults(t *testing.T) {
	t.Parallel()
	names := []string{}
	for _, h := range []state.Handle{sessionID, messages, csvMetadata, currentQuery, currentQueryImages} {
		names = append(names, h.Name())
	}
	if want := []string{"sessionId", "messages", "csvResourcesMetadata", "currentQuery", "currentQueryImages"}; !reflect.DeepEqual(names, want) {
		t.Errorf("the fields are %q, want %q", names, want)
	}
	snap, err := scratch(t).Invoke(t.Context(), graph.Begin())
	if err != nil {
		t.Fatal(err)
	}
	if sessionID.Get(snap) != "" || currentQuery.Get(snap) != "" {
		t.Error("the texts do not begin empty")
	}
	for name, list := range map[string]any{"messages": messages.Get(snap), "metadata": csvMetadata.Get(snap), "images": currentQueryImages.Get(snap)} {
		if data, err := json.Marshal(list); err != nil || string(data) != "[]" {
			t.Errorf("%s begin as %s, %v, want an empty list", name, data, err)
		}
	}
	image, err := json.Marshal(records.Image{Data: []byte("png"), MIMEType: "image/png"})
	if want := `{"data":"cG5n","mimeType":"image/png"}`; err != nil || string(image) != want {
		t.Errorf("an image is %s, %v, want %s", image, err, want)
	}
}

func TestUpdatesReplaceUnlessAbsent(t *testing.T) {
	t.Parallel()
	thread := scratch(t)
	said := []message{{Role: "user", Content: "hi"}}
	if _, err := thread.Invoke(t.Context(), currentQuery.Put(new("one")), messages.Put(&said)); err != nil {
		t.Fatal(err)
	}
	snap, err := thread.Invoke(t.Context(), currentQuery.Put(nil), messages.Put(nil), sessionID.Put(new("s")))
	if err != nil {
		t.Fatal(err)
	}
	if currentQuery.Get(snap) != "one" || !reflect.DeepEqual(messages.Get(snap), said) {
		t.Errorf("an absent update left %q and %v", currentQuery.Get(snap), messages.Get(snap))
	}
	snap, err = thread.Invoke(t.Context(), currentQuery.Put(new("")), messages.Put(&[]message{}))
	if err != nil {
		t.Fatal(err)
	}
	if currentQuery.Get(snap) != "" || len(messages.Get(snap)) != 0 || sessionID.Get(snap) != "s" {
		t.Errorf("empty updates left %q, %v and %q", currentQuery.Get(snap), messages.Get(snap), sessionID.Get(snap))
	}
}

func TestCsvResourceMetadata(t *testing.T) {
	t.Parallel()
	tests := []struct {
		resource csvResource
		want     string
	}{
		{csvResource{ID: "1", OriginalName: "a.csv", StoredPath: "files/1.csv", SizeBytes: 7}, `{"id":"1","originalName":"a.csv","storedPath":"files/1.csv","sizeBytes":7}`},
		{
			csvResource{ID: "1", OriginalName: "a.csv", StoredPath: "files/1.csv", Columns: []string{"x"}, RowCount: new(int64(0))},
			`{"id":"1","originalName":"a.csv","storedPath":"files/1.csv","sizeBytes":0,"columns":["x"],"rowCount":0}`,
		},
	}
	for _, tt := range tests {
		data, err := json.Marshal(tt.resource)
		if err != nil || string(data) != tt.want {
			t.Errorf("got %s, %v, want %s", data, err, tt.want)
		}
	}
}

func TestGuardsRefuseMalformedState(t *testing.T) {
	t.Parallel()
	good := csvResource{ID: "1", OriginalName: "a.csv", StoredPath: "files/1.csv"}
	bad := []state.Write{
		messages.Put(&[]message{{Role: "robot", Content: "x"}}),
		messages.Put(&[]message{{Role: "user", Images: []records.Image{{MIMEType: "image/png"}}}}),
		csvMetadata.Put(&[]csvResource{{OriginalName: "a.csv", StoredPath: "p"}}),
		csvMetadata.Put(&[]csvResource{{ID: "1", StoredPath: "p"}}),
		csvMetadata.Put(&[]csvResource{{ID: "1", OriginalName: "a.csv"}}),
		csvMetadata.Put(&[]csvResource{{ID: "1", OriginalName: "a.csv", StoredPath: "p", SizeBytes: -1}}),
		csvMetadata.Put(&[]csvResource{{ID: "1", OriginalName: "a.csv", StoredPath: "p", RowCount: new(int64(-1))}}),
	}
	for i, write := range bad {
		thread := scratch(t)
		if _, err := thread.Invoke(t.Context(), write); err == nil {
			t.Errorf("write %d was taken", i)
		}
	}
	if _, err := scratch(t).Invoke(t.Context(), csvMetadata.Put(&[]csvResource{good}), messages.Put(&[]message{{Role: "user"}})); err != nil {
		t.Errorf("good state was refused: %v", err)
	}
}
