package main

import (
	"fmt"
	"strings"
)

// A template is a fact about a person and a thing, and two questions about the fact. The first question names the
// person and the thing. The other question names the person, and replaces all other words that carry meaning by
// synonyms: WordNet has the synonym of the thing, and the others were chosen by hand. The kind is the kind of the
// thing.
type template struct{ kind, fact, question, other string }

var templates = []template{
	{"n06", "%s bought a %s last spring.", "When did %s get the %s?", "When did %s purchase the %s?"},
	{"n06", "%s keeps an old %s in the cellar.", "Where is the %[2]s of %[1]s?", "In which basement does %s store the %s?"},
	{"n06", "%s wants to repair the %s of a friend.", "Is %s able to fix a %s?", "Which %[2]s will %[1]s mend?"},
	{"n06", "%s was given a %s for a birthday.", "Who has a %[2]s from a birthday, %[1]s?", "What %[2]s did %[1]s receive as a present?"},
	{"n13", "%s likes %s for breakfast.", "Does %s eat %s?", "Would %s enjoy %s in the morning?"},
	{"n13", "%s can not stand %s.", "What does %s think of %s?", "How does %s tolerate %s?"},
	{"n13", "%s cooked %s for the guests.", "Did %s serve %s?", "Has %s prepared %s for visitors?"},
	{"n05", "%s is afraid of every %s.", "How does %s feel about a %s?", "Which %[2]s scares %[1]s?"},
	{"n05", "%s saw a %s near the lake.", "Has %s ever seen a %s?", "Did %s notice some %s by the pond?"},
	{"n20", "%s grows %s in the garden.", "Does %s have %s?", "Can %s cultivate %s in the backyard?"},
	{"n20", "%s gets a rash from %s.", "What happens to %s near %s?", "Does %s itch from %s?"},
	{"n18", "%s works as a %s in town.", "Is %s a %s?", "Does %s have the job of a %s in the city?"},
	{"n18", "%s once wanted to become a %s.", "Who dreamt of being a %[2]s: %[1]s?", "Did %s wish to turn into a %s?"},
	{"n18", "%s is married to a %s.", "Is the partner of %s a %s?", "Is the spouse of %s a %s?"},
	{"n04", "%s is very good at %s.", "How well does %s do %s?", "How skilled is %s in %s?"},
	{"n04", "%s has given up %s.", "Does %s still do %s?", "Did %s quit %s?"},
	{"n04", "%s pays for lessons in %s.", "Who teaches %[2]s to %[1]s?", "What do classes in %[2]s cost %[1]s?"},
	{"n15", "%s spent the holidays near the %s.", "Was %s at the %s?", "Did %s pass the vacation by the %s?"},
	{"n26", "%s had %s as a child.", "Did %s suffer from %s?", "Was %s ill with %s when young?"},
	{"n10", "%s is writing a long %s.", "How far is %s with the %s?", "Is %s composing an extended %s?"},
}

var firstNames = strings.Fields("Marta Tobias Ingrid Rafael Noor Yusuf Greta Kenji Paloma Anton")

var lastNames = strings.Fields("Oliveira Lindqvist Tanaka Hartmann Achebe")

// facts makes a fact of every template for each of fifty people, hidden among sentences, and two questions about each
// fact. Each thing is a word that the embedder knows, with a synonym that it also knows.
func facts(t *texts, knows func(string) bool) *collection {
	c := &collection{name: "facts", sets: []set{{name: "facts, same words"}, {name: "facts, other words"}}}
	things, used := thingsOf(t.synsets, knows), map[string]int{}
	for i := range 50 {
		name := firstNames[i%10] + " " + lastNames[i/10]
		for _, t := range templates {
			thing := things[t.kind][used[t.kind]%len(things[t.kind])]
			used[t.kind]++
			answer := []int{len(c.documents)}
			c.documents = append(c.documents, document{text: fmt.Sprintf(t.fact, name, thing[0])})
			c.sets[0].questions = append(c.sets[0].questions, question{fmt.Sprintf(t.question, name, thing[0]), answer})
			c.sets[1].questions = append(c.sets[1].questions, question{fmt.Sprintf(t.other, name, thing[1]), answer})
		}
	}
	for _, s := range sample(t.sentences(), distractors) {
		c.documents = append(c.documents, document{text: s})
	}
	return c
}

// thingsOf returns pairs of synonyms by the kind of the synset, in a random order that is always the same.
func thingsOf(synsets []synset, knows func(string) bool) map[string][][2]string {
	things, count := map[string][][2]string{}, senses(synsets)
	for _, s := range synsets {
		var pair []string
		for _, w := range s.words {
			if count[w] <= 2 && len(w) > 3 && knows(w) && (len(pair) == 0 || w[:3] != pair[0][:3]) && !rude(s) {
				pair = append(pair, w)
			}
		}
		if len(pair) >= 2 {
			things[s.kind] = append(things[s.kind], [2]string{pair[0], pair[1]})
		}
	}
	for kind, list := range things {
		things[kind] = sample(list, len(list))
	}
	return things
}

// rude reports whether the dictionary calls the words offensive.
func rude(s synset) bool {
	return strings.Contains(s.gloss, "slur") || strings.Contains(s.gloss, "offensive") || strings.Contains(s.gloss, "disparaging")
}
