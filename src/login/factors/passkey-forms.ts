// The two pages on which a browser creates a passkey for an account: at the user's request, and as an offer after a sign-in.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Passkeys } from '../../factors/passkeys.ts'
import { siteName } from '../../pages/parts/layout.ts'
import type { Chrome } from '../../pages/parts/layout.ts'
import { newPasskeyPage, offerPage } from '../../pages/accounts/security-forms.ts'
import type { SignedInUser } from '../../web/sessions/current-session.ts'
import { ceremonyOf, nameOfBrowser } from './second-factor-task.ts'
import { badName } from './security-access.ts'
import type { Problem, SecurityAccess } from './security-access.ts'
import type { LoginDeps } from '../deps.ts'

/** A page to show, and what went wrong before. */
interface ShownForm {
  readonly signedIn: SignedInUser
  /** The name that was sent. */
  readonly name?: string
  readonly problem?: Problem
}

/** Shows them; with status 422 if there is a problem. */
interface PasskeyForms {
  readonly showNew: (request: FastifyRequest, reply: FastifyReply, shown: ShownForm) => Promise<FastifyReply>
  readonly showOffer: (
    request: FastifyRequest,
    reply: FastifyReply,
    shown: Omit<ShownForm, 'name'>,
  ) => Promise<FastifyReply>
}

/** One instance serves every zone. */
export function createPasskeyForms(
  { pages, urls }: LoginDeps,
  passkeys: Passkeys,
  { pathOf }: SecurityAccess,
): PasskeyForms {
  const optionsOf = async (request: FastifyRequest, signedIn: SignedInUser, chrome: Chrome) =>
    passkeys.registrationOptions(ceremonyOf(request, signedIn, urls), {
      user: signedIn.user,
      siteName: siteName(chrome),
    })

  return {
    async showNew(request, reply, { signedIn, name, problem }) {
      const chrome = await pages.chrome(request, reply, { form: true })
      const page = newPasskeyPage(chrome, {
        action: pathOf(request, '/passkey'),
        options: await optionsOf(request, signedIn, chrome),
        name: name ?? nameOfBrowser(request, chrome),
        back: pathOf(request),
        problem: problem?.(chrome),
        isNameWrong: problem === badName,
      })
      return pages.send(reply.status(problem ? 422 : 200), page)
    },
    async showOffer(request, reply, { signedIn, problem }) {
      const chrome = await pages.chrome(request, reply, { form: true })
      const page = offerPage(chrome, {
        add: pathOf(request, '/passkey'),
        options: await optionsOf(request, signedIn, chrome),
        name: nameOfBrowser(request, chrome),
        decline: pathOf(request, '/offer'),
        problem: problem?.(chrome),
      })
      return pages.send(reply.status(problem ? 422 : 200), page)
    },
  }
}
