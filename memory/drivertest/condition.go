package drivertest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/weft-go/weft/memory/driver"
)

var (
	east = time.FixedZone("east", 5*3600+1800)
	west = time.FixedZone("west", -7*3600)
)

// documents maps the names of facts to their metadata. An empty value means no metadata.
var documents = map[string]string{
	"none": ``, "empty": `{}`, "null": `{"a":null}`, "true": `{"a":true}`, "false": `{"a":false}`,
	"0": `{"a":0}`, "-0": `{"a":-0.0}`, "9": `{"a":9}`, "10": `{"a":10}`, "9.0": `{"a":9.0}`, "0.9e1": `{"a":0.9e1}`,
	"text 9": `{"a":"9"}`, "text 10": `{"a":"10"}`, "text": `{"a":"b"}`, "text B": `{"a":"B"}`, "text é": `{"a":"\u00e9"}`, "text empty": `{"a":""}`,
	"big": `{"a":9007199254740993}`, "big less": `{"a":9007199254740992}`, "huge": `{"a":123456789012345678901234567890}`, "tiny": `{"a":1e-300}`,
	"fraction": `{"a":0.1}`, "list": `{"a":[1,"1",null,[2],{"b":3}]}`, "list empty": `{"a":[]}`, "object": `{"a":{"b":9,"c":[1]}}`, "deep": `{"a":{"b":{"c":{"d":"x"}}}}`,
	"dots": `{"a.b":9}`, "quote": `{"a\"b":9}`, "single": `{"a'b":9}`, "percent": `{"a%b":9,"%":9}`, "bracket": `{"a[0]":9,"[0]":9}`, "dollar": `{"$":9,"$.a":9}`,
	"empty name": `{"":9}`, "backslash": `{"a\\b":9}`, "escaped name": `{"\u0061":9}`, "space": `{ "a" : 9 }`, "twice": `{"a":1,"a":9}`,
	"sql": `{"a":"'; DROP TABLE mem_fact; --"}`, "sql name": `{"'; DROP TABLE mem_fact; --":9}`, "slash": `{"a/b":9}`, "unicode": `{"日本":"🙂"}`, "upper": `{"A":9}`,
}

// A condition is tested on the documents. want has the names of all documents that meet it.
type condition struct {
	path  []string
	op    driver.Op
	value string
	want  string
}

var conditions = []condition{
	{[]string{"a"}, driver.Equal, `9`, "9 9.0 0.9e1 escaped_name space twice"},
	{[]string{"a"}, driver.Equal, `9.00`, "9 9.0 0.9e1 escaped_name space twice"},
	{[]string{"a"}, driver.Equal, `"9"`, "text_9"},
	{[]string{"a"}, driver.Equal, `null`, "null"},
	{[]string{"a"}, driver.Equal, `true`, "true"},
	{[]string{"a"}, driver.Equal, `0`, "0 -0"},
	{[]string{"a"}, driver.Equal, `"\u0062"`, "text"},
	{[]string{"a"}, driver.Equal, `"é"`, "text_é"},
	{[]string{"a"}, driver.Equal, `""`, "text_empty"},
	{[]string{"a"}, driver.Equal, `9007199254740993`, "big"},
	{[]string{"a"}, driver.Equal, `123456789012345678901234567890`, "huge"},
	{[]string{"a"}, driver.Equal, `123456789012345678901234567891`, ""},
	{[]string{"a"}, driver.Equal, `0.1`, "fraction"},
	{[]string{"a"}, driver.Equal, `[]`, "list_empty"},
	{[]string{"a"}, driver.Equal, `[1, "1", null, [2.0], {"b": 3}]`, "list"},
	{[]string{"a"}, driver.Equal, `{"c":[1],"b":9}`, "object"},
	{[]string{"a"}, driver.Equal, `"'; DROP TABLE mem_fact; --"`, "sql"},
	{[]string{"a"}, driver.Less, `10`, "0 -0 9 9.0 0.9e1 escaped_name space twice fraction tiny"},
	{[]string{"a"}, driver.LessEqual, `10`, "0 -0 9 10 9.0 0.9e1 escaped_name space twice fraction tiny"},
	{[]string{"a"}, driver.Greater, `9`, "10 big big_less huge"},
	{[]string{"a"}, driver.Greater, `9007199254740992`, "big huge"},
	{[]string{"a"}, driver.GreaterEqual, `9007199254740992`, "big big_less huge"},
	{[]string{"a"}, driver.Less, `0.1`, "0 -0 tiny"},
	{[]string{"a"}, driver.Less, `"9"`, "text_10 text_empty sql"},
	{[]string{"a"}, driver.Less, `"b"`, "text_9 text_10 text_B text_empty sql"},
	{[]string{"a"}, driver.Greater, `"b"`, "text_é"},
	{[]string{"a"}, driver.GreaterEqual, `"b"`, "text text_é"},
	{[]string{"a"}, driver.LessEqual, `""`, "text_empty"},
	{[]string{"a"}, driver.In, `[9, "b", null, [], {"b":9,"c":[1]}]`, "9 9.0 0.9e1 escaped_name space twice text null list_empty object"},
	{[]string{"a"}, driver.In, `[]`, ""},
	{[]string{"a"}, driver.Has, `1`, "list"},
	{[]string{"a"}, driver.Has, `"1"`, "list"},
	{[]string{"a"}, driver.Has, `null`, "list"},
	{[]string{"a"}, driver.Has, `{"b":3.0}`, "list"},
	{[]string{"a"}, driver.Has, `[2]`, "list"},
	{[]string{"a"}, driver.Has, `2`, ""},
	{[]string{"a", "b"}, driver.Equal, `9`, "object"},
	{[]string{"a", "b"}, driver.Exists, ``, "object deep"},
	{[]string{"a", "c"}, driver.Has, `1`, "object"},
	{[]string{"a", "b", "c", "d"}, driver.Equal, `"x"`, "deep"},
	{[]string{"a", "0"}, driver.Exists, ``, ""},
	{[]string{"a.b"}, driver.Equal, `9`, "dots"},
	{[]string{`a"b`}, driver.Equal, `9`, "quote"},
	{[]string{`a'b`}, driver.Equal, `9`, "single"},
	{[]string{`a%b`}, driver.Equal, `9`, "percent"},
	{[]string{`%`}, driver.Exists, ``, "percent"},
	{[]string{`a[0]`}, driver.Equal, `9`, "bracket"},
	{[]string{`[0]`}, driver.Equal, `9`, "bracket"},
	{[]string{`$`}, driver.Equal, `9`, "dollar"},
	{[]string{`$.a`}, driver.Equal, `9`, "dollar"},
	{[]string{``}, driver.Equal, `9`, "empty_name"},
	{[]string{`a\b`}, driver.Equal, `9`, "backslash"},
	{[]string{`a/b`}, driver.Equal, `9`, "slash"},
	{[]string{`'; DROP TABLE mem_fact; --`}, driver.Equal, `9`, "sql_name"},
	{[]string{`日本`}, driver.Equal, `"🙂"`, "unicode"},
	{[]string{`A`}, driver.Equal, `9`, "upper"},
	{[]string{`") OR 1=1 --`}, driver.Exists, ``, ""},
	{[]string{`a`, `") OR 1=1 --`}, driver.Equal, `1`, ""},
	{[]string{`*`}, driver.Exists, ``, ""},
	{[]string{`#-1`}, driver.Exists, ``, ""},
}

// forms returns the condition with its path. If no name of the path has a dot, it also returns the result of
// [driver.Where] for the names joined by dots.
func (c condition) forms() []driver.Condition {
	forms := []driver.Condition{{Path: c.path, Op: c.op, Value: json.RawMessage(c.value)}}
	for _, name := range c.path {
		if strings.Contains(name, ".") {
			return forms
		}
	}
	var value any
	if c.value != "" {
		value = json.RawMessage(c.value)
	}
	return append(forms, driver.Where(strings.Join(c.path, "."), c.op, value))
}

var conditionCases = []factCase{
	{name: "conditions/table", promise: "conditions compare numbers by value and texts by bytes, and only at their exact path", run: func(k *kit) {
		k.addDocuments()
		for _, c := range conditions {
			var want []string
			for _, name := range strings.Fields(c.want) {
				want = append(want, strings.ReplaceAll(name, "_", " "))
			}
			for _, one := range c.forms() {
				k.wantWhere(one, want)
			}
		}
	}},
	{name: "conditions/not_equal", promise: "a missing value is not equal to any value", run: func(k *kit) {
		k.addDocuments()
		for _, c := range conditions {
			if c.op != driver.Equal {
				continue
			}
			var want []string
			for name := range documents {
				if !strings.Contains(" "+c.want+" ", " "+strings.ReplaceAll(name, " ", "_")+" ") {
					want = append(want, name)
				}
			}
			k.wantWhere(driver.Condition{Path: c.path, Op: driver.NotEqual, Value: json.RawMessage(c.value)}, want)
		}
	}},
	{name: "conditions/exists", promise: "Exists holds for every value, also null", run: func(k *kit) {
		k.addDocuments()
		var want []string
		for name, data := range documents {
			if strings.Contains(data, `"a":`) || name == "space" || name == "escaped name" {
				want = append(want, name)
			}
		}
		k.wantWhere(driver.Condition{Path: []string{"a"}, Op: driver.Exists}, want)
	}},
	{name: "conditions/several", promise: "all conditions must hold", run: func(k *kit) {
		for i := range 30 {
			k.add(ann, fmt.Sprint("fact ", i), about(fmt.Sprintf(`{"n":%d,"m":{"even":%t},"tags":["t%d"]}`, i, i%2 == 0, i%5)))
		}
		q := driver.FactQuery{Reach: ann.Only(), Where: []driver.Condition{
			driver.Where("n", driver.GreaterEqual, 9), driver.Where("n", driver.Less, 21),
			{Path: []string{"m", "even"}, Op: driver.Equal, Value: json.RawMessage(`true`)},
			driver.Where("tags", driver.Has, "t0"),
		}}
		k.want(q, "fact 20", "fact 10")
		q.Limit = 1
		k.want(q, "fact 20")
		for range 16 {
			q.Where = append(q.Where, driver.Where("n", driver.NotEqual, 20))
		}
		q.Limit = 0
		k.want(q, "fact 10")
	}},
	{name: "conditions/exact", promise: "metadata keeps its bytes", run: func(k *kit) {
		for name, data := range documents {
			id := k.add(ann, "document "+name, about(data))
			if got := string(k.get(ann, id).Metadata); got != data {
				k.Errorf("%s: got %q want %q", name, got, data)
			}
		}
	}},
}

func (k *kit) addDocuments() {
	var changes []driver.FactChange
	for name, data := range documents {
		mods := []mod{near("m", 1)}
		if data != "" {
			mods = append(mods, about(data))
		}
		changes = append(changes, k.adding(name, mods...))
	}
	k.apply(ann, changes...)
}

// wantWhere requires that a listing and a search return the facts that meet a condition.
func (k *kit) wantWhere(c driver.Condition, want []string) {
	k.Helper()
	q := driver.FactQuery{Reach: ann.Only(), Where: []driver.Condition{c}, Limit: -1}
	if err := q.Validate(); err != nil {
		k.Fatal(err)
	}
	got := contents(k.find(q))
	if !sameSet(got, want) {
		k.Errorf("%q %s %s: got %q want %q", c.Path, c.Op, c.Value, got, want)
	}
	if n := k.search(driver.FactSearch{Query: q, Embedding: []float32{1}, Model: "m", Limit: 100}); len(n.Records) != len(want) || n.Facts != int64(len(want)) {
		k.Errorf("%q %s %s: searched: got %d of %d facts want %d", c.Path, c.Op, c.Value, len(n.Records), n.Facts, len(want))
	}
}
