/** Saved views of the console's lists. */
import { invalidField, missingField } from '../error/fault.ts';
import { checkText } from '../machine/machine-input.ts';

export const VIEW_PAGES = ['machines', 'operations'] as const;
export type ViewPage = (typeof VIEW_PAGES)[number];

export interface ViewKey {
  readonly page: ViewPage;
  readonly name: string;
}

export interface NewView extends ViewKey {
  /** The parameters of the page's URL. */
  readonly query: string;
}

export interface View extends NewView {
  readonly sharing: 'own' | 'shared';
  readonly createdBy: string;
  readonly createdAt: Date;
}

const MAX_NAME = 60;
const MAX_QUERY = 4_000;
/** For each page and person. */
export const MAX_OWN_VIEWS = 100;

export function checkViewKey({ page, name }: { readonly page: string; readonly name: string }): ViewKey {
  const trimmed = checkText(name, 'name', MAX_NAME).trim();
  if (trimmed === '') throw missingField('name');
  return { page: checkViewPage(page), name: trimmed };
}

export function checkNewView(view: { page: string; name: string; query: string }): NewView {
  return { ...checkViewKey(view), query: checkText(view.query, 'query', MAX_QUERY) };
}

export function checkViewPage(page: string): ViewPage {
  const known = VIEW_PAGES.find((candidate) => candidate === page);
  if (!known) throw invalidField('page', `must be one of ${VIEW_PAGES.join(', ')}`);
  return known;
}
