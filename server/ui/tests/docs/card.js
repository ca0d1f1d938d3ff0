weft.card("invoice", (element, value) => {
  element.textContent = `Invoice ${value.number}: ${value.total}`;
});
