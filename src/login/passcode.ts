// A code for programs that cannot show a sign-in page: the user copies it from the browser.
import type { FastifyRequest } from 'fastify'
import { addSeconds } from '../base/clock.ts'
import { digest } from '../base/secrets.ts'
import { formatPasscodeSignIn, newPasscode, shownPasscode } from '../model/users/passcode.ts'
import { PASSCODE_SECONDS } from '../model/tokens/token.ts'
import { passcodeOfferPage, passcodePage } from '../pages/passcode.ts'
import { PageError, wantsJson } from '../web/answers.ts'
import type { On } from '../web/deferred-routes.ts'
import { refuseProgram } from '../web/sessions/denial.ts'
import { sendJson } from '../web/requests/json.ts'
import { isLoadedInAdvance } from '../web/requests/navigation.ts'
import { isOwnSite } from '../web/requests/request-origin.ts'
import type { SignedInUser } from '../web/sessions/current-session.ts'
import type { SignInRoute } from './routes.ts'
import type { LoginDeps } from './deps.ts'

/** `GET /passcode`: a page with a new code, or the code alone as JSON; invalidates the previous code. */
export function passcodeHandlers(on: On<SignInRoute>, deps: LoginDeps): void {
  const { store, sessions, remembered, clock, random, limits, pages, behaviour } = deps

  /** The display form. */
  async function makePasscode(request: FastifyRequest, { user, session }: SignedInUser): Promise<string> {
    const { zoneId, id: userId, passwordRevision } = user
    const key = `${zoneId} ${userId}`
    await limits.newPasscodes.take(key)
    const value = newPasscode(random, behaviour)
    const expiresAt = addSeconds(clock.now(), PASSCODE_SECONDS)
    const code = {
      zoneId,
      purpose: 'passcode',
      userId,
      codeDigest: digest(value),
      passwordRevision,
      data: formatPasscodeSignIn(session.signIn, { isRemembered: remembered.isRemembered(request, user) }),
      expiresAt,
    } as const
    await store.oneTimeCodes.save(zoneId, code)
    return shownPasscode(value, behaviour)
  }

  on('GET /passcode', async (request, reply) => {
    const signedIn = await sessions.signedIn(request)
    if (!signedIn) throw new PageError(403, 'Unknown authentication token type, unable to derive user ID.')
    if (wantsJson(request)) {
      if (!isUserInitiated(request)) return refuseProgram(reply, 'A passcode cannot be requested by another site.')
      return sendJson(reply, await makePasscode(request, signedIn))
    }
    const chrome = await pages.chrome(request, reply)
    const page = isUserInitiated(request)
      ? passcodePage(chrome, { passcode: await makePasscode(request, signedIn) })
      : passcodeOfferPage(chrome)
    return pages.send(reply, page)
  })
}

/**
 * Whether the user asked for the code: by typing the URL, or from our own page. Links and images of other sites, and
 * prefetching, must neither create nor invalidate a code. Requests without `Sec-Fetch-Site` are allowed: they come from
 * programs and from browsers over plain http, where the worst outcome is an invalidated code.
 */
function isUserInitiated(request: FastifyRequest): boolean {
  return !isLoadedInAdvance(request) && (isOwnSite(request) ?? true)
}
