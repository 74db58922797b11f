const LARGEST_PAGE = 1000;

export interface Page<T> {
  readonly items: readonly T[];
  readonly nextPageToken: string;
}

export interface PageRequest {
  readonly pageSize: number;
  readonly pageToken: string;
}

/** Reads a list call page by page, to its end or up to `limit` items. */
export async function* pagesOf<T>(
  list: (page: PageRequest) => Promise<Page<T>>,
  limit: number | undefined,
): AsyncGenerator<readonly T[]> {
  let left = limit ?? Number.POSITIVE_INFINITY;
  let pageToken = '';
  do {
    const page = await list({ pageSize: Math.min(LARGEST_PAGE, left), pageToken });
    yield page.items.slice(0, left);
    left -= page.items.length;
    pageToken = page.nextPageToken;
  } while (pageToken !== '' && left > 0);
}
