/** What a person does in a browser without scripts: follows redirects, keeps cookies, sends the forms of the issuer's pages. */
import { issuerFetch } from '../../src/issuers/issuer-fetch.ts';

export interface VisitedPage {
  readonly url: string;
  readonly html: string;
}

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

export class Visitor {
  readonly #fetch: ReturnType<typeof issuerFetch>;
  /** By host, as browsers keep them: all ports of a host share its cookies. */
  readonly #jars = new Map<string, Map<string, string>>();
  /** Every cookie as it was set. */
  readonly setCookies: string[] = [];
  /** Every URL that was asked for. */
  readonly visited: string[] = [];

  /** `ca` signs the certificates of the sites. */
  constructor(ca?: Buffer) {
    this.#fetch = issuerFetch(() => ca?.toString());
  }

  /** Asks once, and follows nothing. */
  async send(url: string, init: { method?: string; body?: string; headers?: Record<string, string> } = {}) {
    const jar = this.#jarOf(url);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    this.visited.push(url);
    const answer = await this.#fetch(url, {
      ...init,
      headers: { ...(cookie && { cookie }), ...init.headers },
    });
    for (const set of answer.headers.getSetCookie()) {
      this.setCookies.push(set);
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      jar.set(name, value);
    }
    return answer;
  }

  /** The page at the end of all redirects. */
  async visit(url: string, form?: Readonly<Record<string, string>>): Promise<VisitedPage> {
    const sent = form && { method: 'POST', headers: FORM, body: new URLSearchParams(form).toString() };
    const answer = await this.send(url, sent);
    const next = answer.headers.get('location');
    return next === null ? { url, html: await answer.text() } : this.visit(new URL(next, url).href);
  }

  /** Sends the forms of the issuer one after the other, until a page has none. */
  async signInAt(url: string, login: string): Promise<VisitedPage> {
    let page = await this.visit(url);
    for (let sent = 0; page.html.includes('<form'); sent += 1) {
      if (sent > 6) throw new Error(`the issuer asks again and again: ${page.html.slice(0, 300)}`);
      const action = /<form[^>]* action="([^"]+)"/.exec(page.html)?.[1] ?? '';
      const fields = fieldsOf(page.html);
      const given = { ...fields, ...('login' in fields && { login, password: 'anything' }) };
      page = await this.visit(new URL(action, page.url).href, given);
    }
    return page;
  }

  #jarOf(url: string): Map<string, string> {
    const { hostname } = new URL(url);
    const jar = this.#jars.get(hostname) ?? new Map<string, string>();
    this.#jars.set(hostname, jar);
    return jar;
  }
}

function fieldsOf(html: string): Record<string, string> {
  const inputs = [...html.matchAll(/<input[^>]*>/g)].map(([tag]) => [
    /name="([^"]+)"/.exec(tag)?.[1] ?? '',
    /value="([^"]*)"/.exec(tag)?.[1] ?? '',
  ]);
  return Object.fromEntries(inputs);
}
