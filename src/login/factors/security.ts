// Where users see their second factors, get new recovery codes and forget remembered devices.
import type { Factors } from '../../accounts/factors.ts'
import { MAX_PASSKEYS } from '../../accounts/factor-changes.ts'
import { RECOVERY_CODES } from '../../factors/recovery-codes.ts'
import { hasFactor, SECURITY_PATH as PATH } from '../../model/sessions/fresh-sign-in.ts'
import type { Chrome } from '../../pages/parts/layout.ts'
import { sentence } from '../../pages/parts/messages.ts'
import type { Message } from '../../pages/parts/messages.ts'
import { renewCodesPage } from '../../pages/accounts/security-forms.ts'
import { securityPage } from '../../pages/accounts/security.ts'
import { securityTexts } from '../../pages/texts/security-texts.ts'
import type { On } from '../../web/deferred-routes.ts'
import { goTo } from '../../web/redirect.ts'
import type { Form } from '../../web/requests/form.ts'
import { queryForm } from '../../web/requests/query.ts'
import type { FactorPage } from './factor-pages.ts'
import { ownerOf } from './second-factor-task.ts'
import { createSecurityAccess } from './security-access.ts'
import type { LoginDeps } from '../deps.ts'

/** `/profile/security`, and below it `/codes` and `/devices`. */
export function securityHandlers(on: On<FactorPage>, deps: LoginDeps, { changes }: Factors): void {
  const { store, pages, clock } = deps
  const { entered, fresh, pathOf, done, showCodes } = createSecurityAccess(deps)

  on(
    'GET /profile/security',
    entered(async (request, reply, { signedIn: { user }, policy }) => {
      const chrome = await pages.chrome(request, reply, { form: true })
      const [own, totp, codes] = await Promise.all([
        store.factors.passkeysOf(request.zone.id, user.id),
        store.factors.totpOf(request.zone.id, user.id),
        store.factors.codesLeft(request.zone.id, user.id, clock.now()),
      ])
      const page = securityPage(chrome, {
        path: pathOf(request),
        passkeys: own,
        totp,
        codes,
        codesInSet: RECOVERY_CODES,
        counting: policy.methods,
        mayAddPasskey: own.length < MAX_PASSKEYS,
        remembersDevices: policy.rememberDays > 0,
        message: messageOf(chrome, queryForm(request)),
        now: clock.now(),
      })
      return pages.send(reply, page)
    }),
  )

  on(
    'GET /profile/security/codes',
    fresh(async (request, reply, { signedIn }) => {
      if (!hasFactor(signedIn.user)) return goTo(reply, PATH, deps.urls)
      const chrome = await pages.chrome(request, reply, { form: true })
      const page = renewCodesPage(chrome, { action: pathOf(request, '/codes'), back: pathOf(request) })
      return pages.send(reply, page)
    }),
  )

  on(
    'POST /profile/security/codes',
    fresh(async (request, reply, { signedIn }) => {
      if (!hasFactor(signedIn.user)) return goTo(reply, PATH, deps.urls)
      const codes = await changes.renewRecoveryCodes(await ownerOf(request, signedIn, pages))
      return codes ? showCodes(request, reply, { signedIn, codes, continueUrl: PATH }) : goTo(reply, PATH, deps.urls)
    }),
  )

  on(
    'POST /profile/security/devices',
    // Without a fresh sign-in: it only removes rights, so an attacker with the session gains nothing.
    entered(async (request, reply, { signedIn }) => {
      await changes.forgetDevices(await ownerOf(request, signedIn, pages))
      return done(reply, 'forgotten')
    }),
  )
}

function messageOf({ texts }: Chrome, query: Form): Message | undefined {
  const words = securityTexts(texts)
  if (query.get('error') === 'unknown') return { kind: 'error', text: words.unknown }
  const text = sentence(words.done, query.get('done') ?? '')
  return text === undefined ? undefined : { kind: 'success', text }
}
