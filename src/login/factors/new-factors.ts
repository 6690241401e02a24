// Where users add a passkey or an authenticator app to their account, and are offered a passkey after a sign-in with a password.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Factors } from '../../accounts/factors.ts'
import { MAX_PASSKEYS } from '../../accounts/factor-changes.ts'
import { levelOf } from '../../model/sessions/assurance.ts'
import { SECURITY_PATH as PATH } from '../../model/sessions/fresh-sign-in.ts'
import { mayBeOfferedPasskey } from '../../model/users/second-factor.ts'
import { siteName } from '../../pages/layout.ts'
import type { Chrome } from '../../pages/layout.ts'
import { appPage } from '../../pages/second-factor.ts'
import { newPasskeyPage, offerPage } from '../../pages/security-forms.ts'
import { factorTexts } from '../../pages/texts/factor-texts.ts'
import { securityTexts } from '../../pages/texts/security-texts.ts'
import type { On } from '../../web/deferred-routes.ts'
import type { ProvenFactor, SignedInUser } from '../../web/sessions/session.ts'
import type { FactorPage } from './factor-pages.ts'
import { ceremonyOf, enrolmentOf, nameOfBrowser, ownerOf } from './second-factor-task.ts'
import { acceptedPasskeyName, badName, createSecurityAccess, formOf } from './security-access.ts'
import type { Problem, SecurityDeps } from './security-access.ts'

/** `/passkey`, `/app` and `/offer` below `/profile/security`. */
export function newFactorHandlers(on: On<FactorPage>, deps: SecurityDeps, factors: Factors): void {
  const { store, sessions, pages, urls } = deps
  const { oneTimePasswords, passkeys, changes } = factors
  const { entered, fresh, pathOf, goTo, showCodes } = createSecurityAccess(deps)

  /** The page for a new passkey, with the name that was sent. */
  async function showNewPasskey(
    request: FastifyRequest,
    reply: FastifyReply,
    {
      signedIn,
      name,
      problem,
    }: { readonly signedIn: SignedInUser; readonly name?: string; readonly problem?: Problem },
  ): Promise<FastifyReply> {
    const chrome = await pages.chrome(request, reply, { form: true })
    const page = newPasskeyPage(chrome, {
      action: pathOf(request, '/passkey'),
      options: await optionsOf(request, signedIn, chrome),
      name: name ?? nameOfBrowser(request, chrome),
      back: pathOf(request),
      problem: problem?.(chrome),
    })
    return pages.send(reply.status(problem ? 422 : 200), page)
  }

  const optionsOf = async (request: FastifyRequest, signedIn: SignedInUser, chrome: Chrome) =>
    passkeys.registrationOptions(ceremonyOf(request, signedIn, urls), {
      user: signedIn.user,
      siteName: siteName(chrome),
    })

  on(
    'GET /profile/security/passkey',
    fresh(async (request, reply, { signedIn, policy }) =>
      policy.methods.includes('passkey') ? showNewPasskey(request, reply, { signedIn }) : goTo(request, reply, PATH),
    ),
  )

  on(
    'POST /profile/security/passkey',
    fresh(async (request, reply, { signedIn, policy }) => {
      if (!policy.methods.includes('passkey')) return goTo(request, reply, PATH)
      const form = formOf(request)
      const typed = form.get('name') ?? ''
      const name = acceptedPasskeyName(typed === '' ? nameOfBrowser(request, { texts: pages.texts(request) }) : typed)
      if (name === undefined) return showNewPasskey(request, reply, { signedIn, problem: badName })
      const isOffered = form.get('offered') === 'true'
      const refuse = (problem: Problem) =>
        isOffered
          ? showOffer(request, reply, { signedIn, problem })
          : showNewPasskey(request, reply, { signedIn, name, problem })
      const result = await passkeys.readRegistration(ceremonyOf(request, signedIn, urls), {
        user: signedIn.user,
        answer: form.get('credential') ?? '',
        name,
      })
      if (result.outcome !== 'new') return refuse(({ texts }) => factorTexts(texts).enrol.failedPasskey)
      const isKept = await changes.addPasskey(await ownerOf(request, signedIn, pages), result.passkey)
      if (!isKept) {
        const { length } = await store.factors.passkeysOf(request.zone.id, signedIn.user.id)
        return refuse(({ texts }) =>
          length >= MAX_PASSKEYS ? securityTexts(texts).tooMany : factorTexts(texts).enrol.failedPasskey,
        )
      }
      const continueUrl = isOffered ? await destinationOf(request) : `${PATH}?done=passkey_added`
      return finish(request, reply, { signedIn, factor: { level: 'phr', amr: ['pop'] }, continueUrl })
    }),
  )

  on(
    'GET /profile/security/app',
    fresh(async (request, reply, { signedIn, policy }) => {
      if (!policy.methods.includes('totp')) return goTo(request, reply, PATH)
      const chrome = await pages.chrome(request, reply, { form: true })
      const secret = await oneTimePasswords.begin(enrolmentOf(request, signedIn, chrome))
      return pages.send(reply, appPage(chrome, { ...appLinks(request), secret }))
    }),
  )

  on(
    'POST /profile/security/app',
    fresh(async (request, reply, { signedIn, policy }) => {
      if (!policy.methods.includes('totp')) return goTo(request, reply, PATH)
      const form = formOf(request)
      const chrome = await pages.chrome(request, reply, { form: true })
      const enrolment = enrolmentOf(request, signedIn, chrome)
      const sealed = form.get('secret') ?? ''
      const result = await oneTimePasswords.confirm(sealed, form.get('code') ?? '', enrolment)
      if (result.outcome !== 'confirmed') {
        const { wrongCode, expired } = factorTexts(chrome.texts).enrol
        const secret = (await oneTimePasswords.again(sealed, enrolment)) ?? (await oneTimePasswords.begin(enrolment))
        const problem = result.outcome === 'wrong' ? wrongCode : expired
        return pages.send(reply.status(422), appPage(chrome, { ...appLinks(request), secret, problem }))
      }
      // Otherwise another session of the user added a first factor, which is to be proven first.
      const isKept = await changes.setTotp(await ownerOf(request, signedIn, pages), result.totp)
      if (!isKept) return goTo(request, reply, PATH)
      const continueUrl = `${PATH}?done=app_added`
      return finish(request, reply, { signedIn, factor: { level: '2', amr: ['otp'] }, continueUrl })
    }),
  )

  const appLinks = (request: FastifyRequest) => ({ action: pathOf(request, '/app'), back: pathOf(request) })

  /** Adding a first factor proves it; otherwise the next request would ask for it. */
  async function finish(
    request: FastifyRequest,
    reply: FastifyReply,
    {
      signedIn,
      factor,
      continueUrl,
    }: { readonly signedIn: SignedInUser; readonly factor: ProvenFactor; readonly continueUrl: string },
  ): Promise<FastifyReply> {
    const isFirst = levelOf(signedIn.session.signIn.acr) === '1'
    if (isFirst && !(await sessions.strengthen(request, reply, signedIn, factor))) return goTo(request, reply, '/login')
    const codes = await factors.firstRecoveryCodes(await ownerOf(request, signedIn, pages))
    return codes ? showCodes(request, reply, { signedIn, codes, continueUrl }) : goTo(request, reply, continueUrl)
  }

  /** Where the sign-in was going. */
  async function destinationOf(request: FastifyRequest): Promise<string> {
    const path = (await sessions.savedRequest(request))?.path
    return path === undefined || path.startsWith(`${PATH}/`) ? '/' : path
  }

  async function showOffer(
    request: FastifyRequest,
    reply: FastifyReply,
    { signedIn, problem }: { readonly signedIn: SignedInUser; readonly problem?: Problem },
  ): Promise<FastifyReply> {
    const chrome = await pages.chrome(request, reply, { form: true })
    const page = offerPage(chrome, {
      add: pathOf(request, '/passkey'),
      options: await optionsOf(request, signedIn, chrome),
      name: nameOfBrowser(request, chrome),
      decline: pathOf(request, '/offer'),
      problem: problem?.(chrome),
    })
    return pages.send(reply.status(problem ? 422 : 200), page)
  }

  on(
    'GET /profile/security/offer',
    entered(async (request, reply, { signedIn, policy }) =>
      mayBeOfferedPasskey(policy, signedIn.user, deps.service.name)
        ? showOffer(request, reply, { signedIn })
        : goTo(request, reply, await destinationOf(request)),
    ),
  )

  on(
    'POST /profile/security/offer',
    entered(async (request, reply, { signedIn, policy }) => {
      const { user } = signedIn
      if (mayBeOfferedPasskey(policy, user, deps.service.name))
        await store.factors.declineOffer(request.zone.id, user.id)
      return goTo(request, reply, await destinationOf(request))
    }),
  )
}
