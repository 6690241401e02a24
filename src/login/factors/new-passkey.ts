// Where users add a passkey to their account, and are offered one after a sign-in with a password.
import type { FastifyRequest } from 'fastify'
import { MAX_PASSKEYS } from '../../accounts/factor-changes.ts'
import type { Factors } from '../../accounts/factors.ts'
import { provenBy } from '../../factors/authentication.ts'
import { SECURITY_PATH as PATH } from '../../model/sessions/fresh-sign-in.ts'
import { mayBeOfferedPasskey } from '../../model/users/second-factor.ts'
import { factorTexts } from '../../pages/texts/factor-texts.ts'
import { securityTexts } from '../../pages/texts/security-texts.ts'
import type { On } from '../../web/deferred-routes.ts'
import { goTo } from '../../web/redirect.ts'
import { postedForm } from '../../web/route.ts'
import type { Sessions } from '../../web/sessions/session.ts'
import { createAfterAdding } from './after-adding.ts'
import type { FactorPage } from './factor-pages.ts'
import { createPasskeyForms } from './passkey-forms.ts'
import { ceremonyOf, nameOfBrowser, ownerOf } from './second-factor-task.ts'
import { acceptedPasskeyName, badName, createSecurityAccess } from './security-access.ts'
import type { Problem } from './security-access.ts'
import type { LoginDeps } from '../deps.ts'

/** `/passkey` and `/offer` below `/profile/security`. */
export function newPasskeyHandlers(on: On<FactorPage>, deps: LoginDeps, factors: Factors): void {
  const { store, sessions, pages, urls } = deps
  const { passkeys, changes } = factors
  const access = createSecurityAccess(deps)
  const { entered, fresh } = access
  const { showNew, showOffer } = createPasskeyForms(deps, passkeys, access)
  const afterAdding = createAfterAdding(deps, factors, access)

  on(
    'GET /profile/security/passkey',
    fresh(async (request, reply, { signedIn, policy }) =>
      policy.methods.includes('passkey') ? showNew(request, reply, { signedIn }) : goTo(reply, PATH, deps.urls),
    ),
  )

  on(
    'POST /profile/security/passkey',
    fresh(async (request, reply, { signedIn, policy }) => {
      if (!policy.methods.includes('passkey')) return goTo(reply, PATH, deps.urls)
      const form = postedForm(request)
      const typed = form.get('name') ?? ''
      const name = acceptedPasskeyName(typed === '' ? nameOfBrowser(request, { texts: pages.texts(request) }) : typed)
      if (name === undefined) return showNew(request, reply, { signedIn, problem: badName })
      const isOffered = form.get('offered') === 'true'
      const refuse = (problem: Problem) =>
        isOffered
          ? showOffer(request, reply, { signedIn, problem })
          : showNew(request, reply, { signedIn, name, problem })
      const result = await passkeys.readRegistration(ceremonyOf(request, signedIn, urls), {
        user: signedIn.user,
        answer: form.get('credential') ?? '',
        name,
      })
      if (result.outcome !== 'new') {
        // Web Authentication §5.1.3: the browser says so only after the user has agreed.
        const isKnown = form.get('is_known') === 'true'
        return refuse(({ texts }) => factorTexts(texts).enrol[isKnown ? 'knownPasskey' : 'failedPasskey'])
      }
      const isKept = await changes.addPasskey(await ownerOf(request, signedIn, pages), result.passkey)
      if (!isKept) {
        const { length } = await store.factors.passkeysOf(request.zone.id, signedIn.user.id)
        return refuse(({ texts }) =>
          length >= MAX_PASSKEYS ? securityTexts(texts).tooMany : factorTexts(texts).enrol.failedPasskey,
        )
      }
      const continueUrl = isOffered ? await destinationOf(request, sessions) : `${PATH}?done=passkey_added`
      return afterAdding(request, reply, { signedIn, factor: provenBy(result.passkey), continueUrl })
    }),
  )

  on(
    'GET /profile/security/offer',
    entered(async (request, reply, { signedIn, policy }) =>
      mayBeOfferedPasskey(policy, signedIn.user, deps.service.name)
        ? showOffer(request, reply, { signedIn })
        : goTo(reply, await destinationOf(request, sessions), deps.urls),
    ),
  )

  on(
    'POST /profile/security/offer',
    entered(async (request, reply, { signedIn, policy }) => {
      const { user } = signedIn
      if (mayBeOfferedPasskey(policy, user, deps.service.name))
        await store.factors.declineOffer(request.zone.id, user.id)
      return goTo(reply, await destinationOf(request, sessions), deps.urls)
    }),
  )
}

/** Where the sign-in was going. */
async function destinationOf(request: FastifyRequest, sessions: Sessions): Promise<string> {
  const path = (await sessions.savedRequest(request))?.path
  return path === undefined || path.startsWith(`${PATH}/`) ? '/' : path
}
