package offline

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weft-go/weft/memory/agentmemory"
)

// A fact is what recall_memory tells of one.
type fact struct {
	Content string `json:"content"`
	Since   string `json:"since"` // a day
}

// facts are the facts of an answer of recall_memory.
func facts(answer string) (list []fact) {
	for line := range strings.Lines(answer) {
		var f fact
		if json.Unmarshal([]byte(line), &f) == nil && f.Content != "" {
			list = append(list, f)
		}
	}
	return list
}

// recalls are the answers of recall_memory for the message.
func (t talk) recalls() (answers []string) {
	for _, s := range t.steps {
		if s.call.Name == agentmemory.RecallTool && !s.failed {
			answers = append(answers, s.answer)
		}
	}
	return answers
}

// recalled are the facts that the message asks for. A question about the user may have other words than the fact; of a
// question about anything else, the fact has all words. The second answer of recall_memory has the newest facts, which
// tells the order of the first.
func (t talk) recalled() []fact {
	answers := t.recalls()
	if len(answers) == 0 {
		return nil
	}
	list := facts(answers[0])
	if !ofAll.MatchString(t.message) && !isOfUser(t.message) {
		list = about(keywords(t.message), list, akin)
	}
	if len(answers) > 1 {
		newest := facts(answers[1])
		place := func(f fact) int {
			if at := slices.Index(newest, f); at >= 0 {
				return at
			}
			return len(newest)
		}
		slices.SortStableFunc(list, func(a, b fact) int { return place(a) - place(b) })
	}
	return list
}

// isOfUser reports whether a question is about the user, and not how to do something.
func isOfUser(message string) bool { return ofUser.MatchString(message) && !howTo.MatchString(message) }

// keywords are the words of a question that tell what it is about.
func keywords(message string) []string {
	return slices.DeleteFunc(slices.Collect(maps.Keys(wordsOf(message))), func(word string) bool { return amounts[word] })
}

// isVague reports whether a question is not about the user and has only one keyword. Then a fact with the word need not be
// the answer.
func (t talk) isVague() bool { return !isOfUser(t.message) && len(keywords(t.message)) == 1 }

// told says what was recalled, and whether no fact has all words of the question.
func (t talk) told(list []fact) string {
	text := "You told me:\n- " + toYou(list[0].Content)
	if len(list) > 1 {
		text = "You told me, the newest first:" + dated(list)
	}
	if words := keywords(t.message); len(words) > 0 && len(about(words, list, akin)) == 0 && !ofAll.MatchString(t.message) {
		return "I remember nothing with all of your words. " + text
	}
	return text
}

// unordered reports whether several facts were found and nothing tells yet which is newer.
func (t talk) unordered() bool {
	return len(t.recalls()) == 1 && len(t.recalled()) > 1 && !ofAll.MatchString(t.message) && !t.last
}

// isFormOf reports whether a word is a verb with the ending "ing" or "ed", and the other one is the same verb.
func isFormOf(word, other string) bool {
	root := rootOf(word)
	return root != "" && (other == root || other == root+"e" || rootOf(other) == root)
}

// rootOf cuts the ending of a verb off a word. It is empty if the word has no such ending.
func rootOf(word string) string {
	for _, end := range []string{"ing", "ed"} {
		if less, ok := strings.CutSuffix(word, end); ok && len(less) > 2 {
			return less
		}
	}
	return ""
}

// dated writes facts as a list, as they are said to the user.
func dated(list []fact) (text string) {
	for _, f := range list {
		text += "\n- " + toYou(f.Content)
		if f.Since != "" {
			text += fmt.Sprintf(" (%s)", f.Since)
		}
	}
	return text
}

// about returns the facts that have all the words, or words that are like them.
func about(words []string, list []fact, like func(a, b string) bool) (some []fact) {
	for _, f := range list {
		has := slices.Collect(maps.Keys(wordSet(f.Content)))
		if len(words) > 0 && !slices.ContainsFunc(words, func(word string) bool { return !found(word, has, like) }) {
			some = append(some, f)
		}
	}
	return some
}

// found reports whether a word is among others, or like one.
func found(word string, others []string, like func(a, b string) bool) bool {
	return slices.ContainsFunc(others, func(other string) bool { return like(word, other) })
}

// akin reports whether two words are alike or forms of the same verb.
func akin(a, b string) bool { return alike(a, b) || isFormOf(a, b) || isFormOf(b, a) }

// alike reports whether two words are the same, or begin with the same five letters or more, but for the last two: "allergy"
// and "allergic".
func alike(a, b string) bool {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return a == b || n >= 5 && n+2 >= min(len(a), len(b))
}
