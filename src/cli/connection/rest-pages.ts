/** Reads a list of the REST API page by page, to its end or up to `limit` items. */
import type { Answer, Rest } from './rest-client.ts';

const PAGE = 1000;

export async function* restPages<T>(
  rest: Rest,
  path: string,
  limit: number | undefined,
): AsyncGenerator<readonly T[]> {
  const most = limit ?? Number.POSITIVE_INFINITY;
  for (let offset = 0; offset < most; ) {
    const asked = Math.min(PAGE, most - offset);
    const page = `${path}${path.includes('?') ? '&' : '?'}limit=${asked}&offset=${offset}`;
    const { data, total } = await rest.call<Answer<readonly T[]>>('GET', page);
    yield data;
    offset += data.length;
    if (data.length < asked || (total !== undefined && offset >= total)) return;
  }
}
