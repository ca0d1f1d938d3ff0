const token = async ({ fresh }) => (fresh ? "token-of-ada" : "expired");
// docs:begin headers
weft.headers(async ({ refused }) => ({ Authorization: "Bearer " + (await token({ fresh: refused })) }));
// docs:end
