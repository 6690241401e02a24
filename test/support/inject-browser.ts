import type { Send, TestAnswer, TestRequest } from './inject.ts'

/** A minimal browser: keeps cookies, and follows no redirects. */
export interface Browser {
  readonly cookies: Map<string, string>
  send(path: string, request?: TestRequest): Promise<TestAnswer>
  /** Opens the sign-in page and posts the form; returns the response to the post. */
  signIn(userName: string, password: string): Promise<TestAnswer>
  /** The value of the anti-forgery cookie. */
  readonly csrf: string
}

/** The browser addresses the host, or that of the base URL. */
export function createBrowser(send: Send, host?: string): Browser {
  const cookies = new Map<string, string>()
  const self: Browser = {
    cookies,
    get csrf() {
      return cookies.get('X-Svc-Csrf') ?? cookies.get('X-Uaa-Csrf') ?? ''
    },
    async send(path, request = {}) {
      const answer = await send(path, {
        ...(host !== undefined && { host }),
        cookies: Object.fromEntries(cookies),
        ...request,
      })
      for (const [name, value] of Object.entries(answer.cookies)) {
        if (value === '') cookies.delete(name)
        else cookies.set(name, value)
      }
      return answer
    },
    async signIn(username, password) {
      const page = await self.send('/login')
      const field = /name="(X-[A-Za-z]+-Csrf)" value="([^"]+)"/.exec(page.text)
      const hidden = /name="form_redirect_uri" value="([^"]+)"/.exec(page.text)?.[1]?.replaceAll('&amp;', '&')
      return self.send('/login.do', {
        form: {
          username,
          password,
          ...(field?.[1] !== undefined && { [field[1]]: field[2] ?? '' }),
          ...(hidden !== undefined && { form_redirect_uri: hidden }),
        },
      })
    },
  }
  return self
}
