package engine

import (
	"reflect"
	"sync"
)

// answerTypes has the types of answers by the names of interrupts. The type is nil if interrupts of one name have several.
var answerTypes struct {
	sync.Mutex
	byName map[string]reflect.Type
}

// DeclareAnswer records the type of the answers of an interrupt for [AnswerType].
func DeclareAnswer(interrupt string, t reflect.Type) {
	answerTypes.Lock()
	defer answerTypes.Unlock()
	if answerTypes.byName == nil {
		answerTypes.byName = map[string]reflect.Type{}
	}
	if before, ok := answerTypes.byName[interrupt]; ok && before != t {
		t = nil
	}
	answerTypes.byName[interrupt] = t
}

// AnswerType returns the type of the answers of the interrupts that this process has declared with a name. It returns
// nil if there is no such interrupt, or if they have several types.
func AnswerType(interrupt string) reflect.Type {
	answerTypes.Lock()
	defer answerTypes.Unlock()
	return answerTypes.byName[interrupt]
}
