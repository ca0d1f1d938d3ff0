// Package ui has the pages of a server: the chat for end users and the studio. They are built
// from the TypeScript beside this file, and the built files are part of the package, so that a
// program needs no Node.
//
// A page is served before its user is known. It holds no data of a user: it calls the server with
// the credentials of the user, which are the cookies of the browser unless [Chat.Script] sets
// others. It makes no request to another host, and its policy forbids scripts that are not of its
// own origin.
package ui
