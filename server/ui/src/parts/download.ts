import { fetchSigned } from "../client";

/** saveBlob saves data as a file. */
export function saveBlob(data: Blob, name: string) {
  const url = URL.createObjectURL(data);
  save(url, name);
  URL.revokeObjectURL(url);
}

function save(url: string, name: string) {
  const a = document.createElement("a");
  a.href = url;
  a.download = name;
  a.click();
}

/**
 * download saves a file of this origin. The request has the headers of the page, which a link does not
 * send. Without headers the browser loads the file itself.
 */
export async function download(address: string, name: string) {
  const response = await fetchSigned(address);
  if (!response) return save(address, name);
  if (!response.ok) throw { status: response.status, text: await response.text() };
  saveBlob(await response.blob(), name);
}
