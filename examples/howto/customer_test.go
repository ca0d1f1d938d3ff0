package howto_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"

	"github.com/weft-go/weft/server"
)

// docs:begin customer

// threadOf returns the thread of a customer: always the same UUID, which nobody can guess without the key.
func threadOf(key []byte, customer string) string {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(customer))
	id := h.Sum(nil)[:16]
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80 // version 8 of RFC 9562: the program makes the other bits
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

// All messages of a customer are in one thread, which the first message creates.
func Example_threadOfACustomer() {
	address, end := serve(server.Options{})
	defer end()
	key := []byte("32 random bytes from the configuration") // with another key, each customer has another thread
	say := func(customer, text string) (messages int) {
		var values struct{ Messages []struct{ Content string } }
		post(address+"/threads/"+threadOf(key, customer)+"/runs/wait", fmt.Sprintf(`{
			"assistant_id": "echo",
			"if_not_exists": "create",
			"input": {"messages": [{"role": "user", "content": %q}]}
		}`, text), &values)
		return len(values.Messages)
	}
	fmt.Println(say("customer-7", "my order is late"), say("customer-8", "hello"), say("customer-7", "it is order A7"))
	// Output: 2 2 4
}

// docs:end
