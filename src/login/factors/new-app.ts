// Where users add an authenticator app to their account.
import type { FastifyRequest } from 'fastify'
import type { Factors } from '../../accounts/factors.ts'
import { SECURITY_PATH as PATH } from '../../model/sessions/fresh-sign-in.ts'
import { appPage } from '../../pages/sign-in/second-factor.ts'
import { factorTexts } from '../../pages/texts/factor-texts.ts'
import type { On } from '../../web/deferred-routes.ts'
import { goTo } from '../../web/redirect.ts'
import { postedForm } from '../../web/route.ts'
import { createAfterAdding } from './after-adding.ts'
import type { FactorPage } from './factor-pages.ts'
import { enrolmentOf, ownerOf } from './second-factor-task.ts'
import { createSecurityAccess } from './security-access.ts'
import type { LoginDeps } from '../deps.ts'

/** `/app` below `/profile/security`. */
export function newAppHandlers(on: On<FactorPage>, deps: LoginDeps, factors: Factors): void {
  const { pages } = deps
  const { oneTimePasswords, changes } = factors
  const access = createSecurityAccess(deps)
  const { fresh, pathOf } = access
  const afterAdding = createAfterAdding(deps, factors, access)
  const links = (request: FastifyRequest) => ({ action: pathOf(request, '/app'), back: pathOf(request) })

  on(
    'GET /profile/security/app',
    fresh(async (request, reply, { signedIn, policy }) => {
      if (!policy.methods.includes('totp')) return goTo(reply, PATH, deps.urls)
      const chrome = await pages.chrome(request, reply, { form: true })
      const secret = await oneTimePasswords.begin(enrolmentOf(request, signedIn, chrome))
      return pages.send(reply, appPage(chrome, { ...links(request), secret }))
    }),
  )

  on(
    'POST /profile/security/app',
    fresh(async (request, reply, { signedIn, policy }) => {
      if (!policy.methods.includes('totp')) return goTo(reply, PATH, deps.urls)
      const form = postedForm(request)
      const chrome = await pages.chrome(request, reply, { form: true })
      const enrolment = enrolmentOf(request, signedIn, chrome)
      const sealed = form.get('secret') ?? ''
      const result = await oneTimePasswords.confirm(sealed, form.get('code') ?? '', enrolment)
      if (result.outcome !== 'confirmed') {
        const { wrongCode, expired } = factorTexts(chrome.texts).enrol
        const secret = (await oneTimePasswords.again(sealed, enrolment)) ?? (await oneTimePasswords.begin(enrolment))
        const problem = result.outcome === 'wrong' ? wrongCode : expired
        return pages.send(reply.status(422), appPage(chrome, { ...links(request), secret, problem }))
      }
      // Otherwise another session of the user added a first factor, which is to be proven first.
      const isKept = await changes.setTotp(await ownerOf(request, signedIn, pages), result.totp)
      if (!isKept) return goTo(reply, PATH, deps.urls)
      const continueUrl = `${PATH}?done=app_added`
      return afterAdding(request, reply, { signedIn, factor: { level: '2', amr: ['otp'] }, continueUrl })
    }),
  )
}
