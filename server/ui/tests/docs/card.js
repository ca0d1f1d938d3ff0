weft.card("invoice", (element, value) => {
  element.textContent = `Invoice ${value.number}: ${value.total} `;
  const pay = document.createElement("button");
  pay.textContent = "Pay";
  pay.onclick = () => weft.send(`Pay invoice ${value.number}.`);
  element.append(pay);
});
