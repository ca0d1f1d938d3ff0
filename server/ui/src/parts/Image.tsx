import { ImageOff } from "lucide-react";
import { useEffect, useState } from "react";
import { fetchSigned } from "../client";
import { tr } from "../texts";

type Props = { src: string; alt: string; className?: string };

/**
 * Image shows an image of this origin. The request has the headers of the page, which an element does
 * not send. Without headers the browser loads the image itself.
 */
export function Image({ src, alt, className = "" }: Props) {
  const [shown, setShown] = useState(own(src) ? src : undefined);
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    setFailed(false);
    if (own(src)) return setShown(src);
    let made: string | undefined;
    const stop = new AbortController();
    load(src, stop.signal).then(
      (data) => {
        if (stop.signal.aborted) return;
        if (typeof data !== "string") made = URL.createObjectURL(data);
        setShown(made ?? src);
      },
      () => stop.signal.aborted || setFailed(true),
    );
    return () => {
      stop.abort();
      if (made) URL.revokeObjectURL(made);
    };
  }, [src]);
  if (failed) return <span role="img" aria-label={tr("{what} cannot be shown", { what: alt || tr("The image") })} className={`grid min-h-10 place-items-center text-muted ${className}`}><ImageOff size={16} aria-hidden /></span>;
  if (!shown) return <span aria-hidden className={`inline-block min-h-10 ${className}`} />;
  return <img src={shown} alt={alt} loading="lazy" className={className} onError={() => setFailed(true)} />;
}

// own reports whether the data is in the page already.
const own = (src: string) => /^(data|blob):/.test(src);

async function load(src: string, signal: AbortSignal): Promise<Blob | string> {
  const response = await fetchSigned(src, signal);
  if (!response) return src;
  if (!response.ok) throw new Error(`the image has the status ${response.status}`);
  return response.blob();
}
