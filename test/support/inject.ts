// Requests without sockets: through Fastify's `inject`, so that any Host header can be sent.
import type { App } from '../../src/app.ts'

/** One request. */
export interface TestRequest {
  readonly method?: string
  /** Parameters of the query. */
  readonly query?: Readonly<Record<string, string>>
  /** A form body: its parameters, or the encoded text. */
  readonly form?: Readonly<Record<string, string>> | string
  /** A body of another kind, with its own content type in `headers`. */
  readonly body?: string | Buffer
  readonly headers?: Readonly<Record<string, string>>
  /** `client_id:secret`, encoded into a Basic header as RFC 6749 §2.3.1 requires. */
  readonly basic?: readonly [string, string]
  readonly bearer?: string
  readonly cookies?: Readonly<Record<string, string>>
  /** The Host header; the base URL's unless given. */
  readonly host?: string
}

/** One answer. */
export interface TestAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
  /** The body as JSON, of the type that the test expects; throws if it is not JSON. */
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- a test declares the expected type, and asserts the content
  json<T = Record<string, unknown>>(): T
  /** Location header, parsed; throws when there is none. */
  location(): URL
  /** Cookies that were set, by name; an expired one has the value ''. */
  readonly cookies: Readonly<Record<string, string>>
}

/** Sends a request to a test server. */
export type Send = (path: string, request?: TestRequest) => Promise<TestAnswer>

/** Requests have the host of the base URL by default. */
export function sender({ http }: Pick<App, 'http'>, baseUrl: string): Send {
  return async (path, request = {}) => {
    const { form, body, basic, bearer } = request
    const url = request.query ? `${path}?${new URLSearchParams(request.query).toString()}` : path
    const payload = form === undefined ? body : typeof form === 'string' ? form : new URLSearchParams(form).toString()
    const headers: Record<string, string> = { host: request.host ?? new URL(baseUrl).host }
    if (form !== undefined) headers['content-type'] = 'application/x-www-form-urlencoded'
    if (basic) headers['authorization'] = `Basic ${btoa(basic.map(part => encodeURIComponent(part)).join(':'))}`
    if (bearer !== undefined) headers['authorization'] = `Bearer ${bearer}`
    if (request.cookies) {
      headers['cookie'] = Object.entries(request.cookies)
        .map(([name, value]) => `${name}=${value}`)
        .join('; ')
    }
    const answer = await http.inject({
      method: (request.method ?? (payload === undefined ? 'GET' : 'POST')) as 'GET', // any method's name
      url,
      headers: { ...headers, ...request.headers },
      ...(payload !== undefined && { payload }),
    })
    return {
      status: answer.statusCode,
      headers: answer.headers as Record<string, string | string[] | undefined>, // numbers do not occur
      text: answer.body,
      json: () => JSON.parse(answer.body),
      location: () => new URL(String(answer.headers['location'])),
      get cookies() {
        return Object.fromEntries(answer.cookies.map(({ name, value }) => [name, value])) // parsed each time
      },
    }
  }
}
