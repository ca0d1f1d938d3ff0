// The declaration of docs/chat.md fits what the page offers.
export const offered: typeof weft = window.weft;
