// Command calendar is an assistant for a person's calendar, mail and tasks that
// asks before it deletes or sends anything.
package main

func main() {}
