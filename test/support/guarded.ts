// Shared by attacks on second factors: a zone that requires one, and marissa, whose password the attacker knows.
import assert from 'node:assert/strict'
import { authorizeBootstrap, signedIn } from './authorize.ts'
import { MODES } from './oauth.ts'
import type { AuthenticatorApp } from './second-factor.ts'
import { enrolApp, setPolicy } from './second-factor.ts'
import type { Browser, ServerOptions, TestServer } from './server.ts'
import { startServer } from './server.ts'

/** A server, and the browser and factor of the victim. */
export interface Guarded {
  readonly server: TestServer
  readonly app: AuthenticatorApp
  readonly codes: readonly string[]
  /** The browser in which marissa has proven her factor. */
  readonly owner: Browser
}

/** The redirect of every request with only the password. */
export const FACTOR_PAGE = 'http://localhost:8080/second_factor'

/** Runs the attack in both modes; browsers may be remembered for thirty days. */
export async function guarded(
  attempt: (guarded: Guarded) => Promise<void>,
  bootstrap: Readonly<Record<string, unknown>> = {},
  options: ServerOptions = {},
): Promise<void> {
  for (const mode of MODES) {
    const config = { bootstrap: { ...authorizeBootstrap, ...bootstrap }, ...options.config }
    const server = await startServer({ ...options, mode, config })
    try {
      await setPolicy(server, { requirement: 'required', rememberDays: 30 })
      const owner = await signedIn(server)
      const { app, codes } = await enrolApp(server, owner)
      server.clock.advance(60)
      await attempt({ server, app, codes, owner })
      assert.deepEqual(server.faults, [])
    } finally {
      await server.stop()
    }
  }
}

/** Whether the browser is past the second factor. */
export const isIn = async (browser: Browser): Promise<boolean> => (await browser.send('/home')).status === 200

/** The anti-forgery field, as a form of a page has it. */
export const genuine = ({ csrf }: Browser): Record<string, string> => ({ 'X-Svc-Csrf': csrf, 'X-Uaa-Csrf': csrf })

/** The page that the browser is redirected to, for any URL. */
export const leadsTo = async (browser: Browser): Promise<string> =>
  String((await browser.send('/')).headers['location'])
