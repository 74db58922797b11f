/** Disk images in the REST API: list, upload in pieces, remove. */
import { rest } from '../../api/rest.ts';

export interface ImageBody {
  readonly name: string;
  readonly sha256: string;
  readonly size_bytes: number;
  readonly format: string | null;
  readonly virtual_size_bytes: number | null;
  readonly created_by: string;
  readonly created_at: string;
}

interface Answer<T> {
  readonly data: T;
}

const path = (name: string) => `/api/v1/images/${encodeURIComponent(name)}`;

export async function listImages(): Promise<ImageBody[]> {
  return (await rest<Answer<ImageBody[]>>('GET', '/api/v1/images')).data;
}

export async function removeImage(name: string): Promise<void> {
  await rest('DELETE', path(name));
}

export interface Upload {
  readonly name: string;
  readonly file: File;
  readonly sha256: string;
  readonly onSent: (bytes: number) => void;
}

/** Continues where an interrupted upload of the same file ended. */
export async function uploadImage({ name, file, sha256, onSent }: Upload): Promise<void> {
  const query = `?sha256=${encodeURIComponent(sha256)}`;
  const { data } = await rest<Answer<{ offset: number; piece_bytes: number }>>(
    'GET',
    `${path(name)}/upload${query}`,
  );
  const { piece_bytes: piece } = data;
  // The last piece completes the image, so it is sent even if the server has all bytes.
  let offset = data.offset >= file.size ? Math.max(0, file.size - piece) : data.offset;
  while (offset < file.size) {
    const end = Math.min(file.size, offset + piece);
    await rest('PUT', `${path(name)}/content${query}`, file.slice(offset, end), {
      'content-range': `bytes ${offset}-${end - 1}/${file.size}`,
    });
    offset = end;
    onSent(offset);
  }
}

/** A browser can only digest what fits into its memory, and only on a page with TLS or on loopback. */
export const MOST_DIGESTED = 256 * 1024 * 1024;

export async function digestOf(file: File): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', await file.arrayBuffer());
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

export function canDigest(file: File): boolean {
  return file.size <= MOST_DIGESTED && crypto.subtle !== undefined;
}
