// The second step of a sign-in: until the factor that is owed is proven, the person can do nothing else. Whoever has none gets
// one here, and whoever has to show more than before, because an application asks for it, does so here as well.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FactorOwner } from '../accounts/factor-changes.ts'
import { levelOf, reaches, stronger } from '../model/assurance.ts'
import type { Level } from '../model/assurance.ts'
import type { Behaviour } from '../model/compatibility.ts'
import type { Audit } from '../model/event.ts'
import { asksForSecondFactor, countingMethods, methodsFor, secondFactorPolicy } from '../model/second-factor.ts'
import type { SecondFactorPolicy } from '../model/second-factor.ts'
import { SECOND_FACTOR_PATH } from '../model/sign-in-demands.ts'
import { neededLevel } from '../model/step-up.ts'
import type { UserGroups } from '../model/scopes.ts'
import type { Urls } from '../model/urls.ts'
import type { User } from '../model/user.ts'
import type { Zone } from '../model/zone.ts'
import { appPage, enrolPage, provePage, recoveryCodesPage } from '../pages/second-factor.ts'
import type { Way } from '../pages/second-factor.ts'
import { siteName } from '../pages/layout.ts'
import type { Chrome } from '../pages/layout.ts'
import { factorTexts } from '../pages/texts/factor-texts.ts'
import type { FactorMethod } from '../records/user.ts'
import type { Csrf } from '../web/csrf.ts'
import type { Denial } from '../web/denial.ts'
import type { On } from '../web/deferred-routes.ts'
import { EMPTY_FORM } from '../web/form.ts'
import type { Form } from '../web/form.ts'
import { guessKey } from '../web/limits.ts'
import type { Limits } from '../web/limits.ts'
import type { PageWriter } from '../web/pages.ts'
import { queryForm } from '../web/query.ts'
import type { RememberedDevices } from '../web/remembered-devices.ts'
import { contextOf, originOf } from '../web/request-context.ts'
import { bodyForm } from '../web/route.ts'
import type { ProvenFactor, Sessions, Visitor } from '../web/session.ts'
import type { SignInDemands } from '../web/sign-in-demands.ts'
import type { FactorPage } from './factor-pages.ts'
import type { Factors } from '../accounts/factors.ts'
import type { Journeys } from './journey.ts'

/** Dependencies of `secondFactorHandlers`. */
export interface SecondFactorDeps {
  readonly sessions: Sessions
  readonly signInDemands: SignInDemands
  readonly journeys: Journeys
  readonly remembered: RememberedDevices
  readonly groupsOf: (zone: Zone, user: User) => Promise<UserGroups>
  readonly denial: Denial
  readonly csrf: Csrf
  readonly pages: PageWriter
  readonly limits: Limits
  readonly urls: Urls
  readonly behaviour: Behaviour
  readonly audit: Audit
}

const APP_PATH = `${SECOND_FACTOR_PATH}/app`
const PASSKEY_PATH = `${SECOND_FACTOR_PATH}/passkey`

/** What a person has to do here. */
interface Task {
  readonly visitor: Visitor
  readonly policy: SecondFactorPolicy
  /** The level to reach, and the factors that do. */
  readonly needed: Level
  readonly reaching: readonly FactorMethod[]
  /** What the person can prove now. */
  readonly provable: readonly FactorMethod[]
  /** Whether a factor may be added: by whoever has none, and by whoever has proven one. */
  readonly mayAdd: boolean
  /** Whether an application asks for more, and not the zone. */
  readonly isStepUp: boolean
}

/** `/second_factor`, and `/second_factor/app` and `/second_factor/passkey` for a first factor. */
export function secondFactorHandlers(on: On<FactorPage>, deps: SecondFactorDeps, factors: Factors): void {
  const { sessions, signInDemands, journeys, remembered, denial, csrf, pages, limits, urls, behaviour } = deps
  const { codeCheck, oneTimePasswords, passkeys, changes } = factors

  /** What is still to be done; undefined for nothing. */
  async function taskOf(request: FastifyRequest): Promise<Task | undefined> {
    const visitor = await sessions.visitor(request)
    if (!visitor) return undefined
    const { zone } = request
    const { user, session } = visitor
    const policy = secondFactorPolicy(zone, behaviour)
    const isOwed = (await signInDemands.open(request, visitor))?.name === 'second-factor'
    const { client, query } = await journeys.of(request, EMPTY_FORM)
    const groupNames = (await deps.groupsOf(zone, user)).groups
    const asked = neededLevel(policy, {
      acrValues: query?.get('acr_values'),
      client: client?.secondFactor,
      user,
      groupNames,
    })
    const level = levelOf(session.signIn.acr)
    const isAsked = asked !== undefined && !reaches(level, asked.level)
    if (!isOwed && !isAsked) return undefined
    const needed = isAsked ? stronger(asked.level, '2') : '2'
    const reaching = isAsked ? asked.methods : methodsFor(needed, policy)
    const counting = countingMethods(policy, user)
    const isFirstStep = level === '1'
    return {
      visitor,
      policy,
      needed,
      reaching,
      // What is not enough for the application still proves who it is, and opens the way to add what is.
      provable: isFirstStep ? counting : counting.filter(method => reaching.includes(method)),
      mayAdd: !isFirstStep || (user.factors?.methods ?? []).length === 0,
      isStepUp: !isOwed || !asksForSecondFactor(policy, user, groupNames),
    }
  }

  const pathOf = ({ zone }: FastifyRequest, path: string): string => urls.pathOf(zone) + path
  const goTo = (request: FastifyRequest, reply: FastifyReply, path: string): FastifyReply =>
    reply.redirect(urls.ofZone(request.zone) + path, 302)

  /** Where the person was going. */
  const onwardOf = async (request: FastifyRequest): Promise<string> =>
    (await sessions.savedRequest(request))?.path ?? '/'
  const goOn = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> =>
    goTo(request, reply, await onwardOf(request))

  const ceremonyOf = (request: FastifyRequest, { session }: Visitor) => ({
    zoneId: request.zone.id,
    baseUrl: urls.ofZone(request.zone),
    browser: `session ${session.idDigest}`,
  })
  const enrolmentOf = (request: FastifyRequest, { user, session }: Visitor, chrome: Chrome) => ({
    zoneId: request.zone.id,
    userId: user.id,
    session: session.idDigest,
    issuer: siteName(chrome),
    userName: user.userName,
  })
  const ownerOf = (request: FastifyRequest, { user }: Visitor): FactorOwner => ({
    zone: request.zone,
    user,
    from: originOf(request),
  })

  /** The page for what is to be done: prove a factor, or add one. */
  async function show(
    request: FastifyRequest,
    reply: FastifyReply,
    { task, form, problem }: { readonly task: Task; readonly form: Form; readonly problem?: Problem },
  ): Promise<FastifyReply> {
    const chrome = await pages.chrome(request, reply, { form: true })
    const { provable, mayAdd, visitor } = task
    const texts = factorTexts(chrome.texts)
    const text = problem?.(texts, chrome.texts)
    if (text !== undefined) void reply.status(422)
    const asksForCode = form.get('way') === 'recovery' && levelOf(visitor.session.signIn.acr) === '1'
    if (provable.length === 0 && mayAdd && !asksForCode) {
      const options = await passkeys.registrationOptions(ceremonyOf(request, visitor), {
        user: visitor.user,
        siteName: siteName(chrome),
      })
      const { reaching, isStepUp } = task
      const page = enrolPage(chrome, {
        ...(reaching.includes('passkey') && { passkey: { action: pathOf(request, PASSKEY_PATH), options } }),
        ...(reaching.includes('totp') && { app: pathOf(request, APP_PATH) }),
        ...(levelOf(visitor.session.signIn.acr) === '1' && {
          code: `${pathOf(request, SECOND_FACTOR_PATH)}?way=recovery`,
        }),
        isStepUp,
        problem: text,
      })
      return pages.send(reply, page)
    }
    const ways = waysOf(task)
    const way = ways.find(each => each === form.get('way')) ?? ways[0] ?? 'recovery'
    const page = provePage(chrome, {
      action: pathOf(request, SECOND_FACTOR_PATH),
      way,
      others: ways.filter(each => each !== way),
      ...(way === 'passkey' && {
        options: await passkeys.authenticationOptions(ceremonyOf(request, visitor), visitor.user),
      }),
      rememberDays: provable.length > 0 ? task.policy.rememberDays : 0,
      problem: text,
      isStuck: provable.length === 0 && !mayAdd,
    })
    return pages.send(reply, page)
  }

  on('GET /second_factor', async (request, reply) => {
    const task = await taskOf(request)
    return task ? show(request, reply, { task, form: queryForm(request) }) : goOn(request, reply)
  })

  on('POST /second_factor', async (request, reply) => {
    if (!(await csrf.isGenuine(request))) return denial.refuseForgery(request, reply)
    const task = await taskOf(request)
    if (!task) return goOn(request, reply)
    const form = bodyForm(request) ?? EMPTY_FORM
    const proven = await limits.wrongPasswords.attempt(
      guessKey(contextOf(request), task.visitor.user.userName),
      () => prove(request, task, form),
      result => typeof result === 'function',
    )
    if (typeof proven === 'function') return show(request, reply, { task, form, problem: proven })
    const onward = await onwardOf(request)
    const { user } = task.visitor
    if (!(await sessions.strengthen(request, reply, task.visitor, proven))) return goTo(request, reply, '/login')
    if (form.get('remember') === 'true' && task.provable.length > 0) remembered.remember(request, reply, user)
    return goTo(request, reply, onward)
  })

  /** What the form proves, or what to say of it. */
  async function prove(request: FastifyRequest, task: Task, form: Form): Promise<ProvenFactor | Problem> {
    const { visitor, provable } = task
    const answer = form.get('credential')
    if (answer !== undefined) {
      if (!provable.includes('passkey')) return texts => texts.prove.wrongPasskey
      const result = await passkeys.authenticate(ceremonyOf(request, visitor), { answer, user: visitor.user })
      report(request, visitor, result.outcome === 'proved' ? undefined : result.reason)
      return result.outcome === 'proved' ? result : texts => texts.prove.wrongPasskey
    }
    // Codes reach level 2 and no more.
    const isUseful = levelOf(visitor.session.signIn.acr) === '1'
    const typed = { user: visitor.user, code: form.get('code') ?? '', methods: provable }
    const result = isUseful ? await codeCheck(contextOf(request), typed) : { outcome: 'refused', reason: 'wrong' }
    if (result.outcome === 'good') return { level: '2', amr: ['otp'] }
    const isLocked = result.outcome === 'refused' && result.reason === 'locked' && !behaviour.hideLockout
    if (isLocked) return (_, shared) => shared.errors.account_locked
    return texts => (form.get('way') === 'recovery' ? texts.prove.wrongRecovery : texts.prove.wrongCode)
  }

  function report(request: FastifyRequest, { user }: Visitor, reason: string | undefined): void {
    deps.audit({
      type: reason === undefined ? 'MfaAuthenticationSuccess' : 'MfaAuthenticationFailure',
      zoneId: request.zone.id,
      principal: user.id,
      origin: user.origin,
      ...originOf(request),
      data: reason === undefined ? 'passkey' : `passkey: ${reason}`,
    })
  }

  on('GET /second_factor/app', async (request, reply) => {
    const task = await taskOf(request)
    if (!task || !mayEnrol(task, 'totp')) return goTo(request, reply, SECOND_FACTOR_PATH)
    const chrome = await pages.chrome(request, reply, { form: true })
    const secret = await oneTimePasswords.begin(enrolmentOf(request, task.visitor, chrome))
    const [action, back] = [pathOf(request, APP_PATH), pathOf(request, SECOND_FACTOR_PATH)]
    return pages.send(reply, appPage(chrome, { action, secret, back }))
  })

  on('POST /second_factor/app', async (request, reply) => {
    if (!(await csrf.isGenuine(request))) return denial.refuseForgery(request, reply)
    const task = await taskOf(request)
    if (!task || !mayEnrol(task, 'totp')) return goTo(request, reply, SECOND_FACTOR_PATH)
    const form = bodyForm(request) ?? EMPTY_FORM
    const chrome = await pages.chrome(request, reply, { form: true })
    const { enrol: texts } = factorTexts(chrome.texts)
    const enrolment = enrolmentOf(request, task.visitor, chrome)
    const sealed = form.get('secret') ?? ''
    const result = await oneTimePasswords.confirm(sealed, form.get('code') ?? '', enrolment)
    if (result.outcome !== 'confirmed') {
      const secret = (await oneTimePasswords.again(sealed, enrolment)) ?? (await oneTimePasswords.begin(enrolment))
      const problem = result.outcome === 'wrong' ? texts.wrongCode : texts.expired
      const [action, back] = [pathOf(request, APP_PATH), pathOf(request, SECOND_FACTOR_PATH)]
      return pages.send(reply.status(422), appPage(chrome, { action, secret, back, problem }))
    }
    const isKept = await changes.setTotp(ownerOf(request, task.visitor), result.totp)
    if (!isKept) return goTo(request, reply, '/login')
    return finishEnrolment(request, reply, { visitor: task.visitor, factor: { level: '2', amr: ['otp'] } })
  })

  on('POST /second_factor/passkey', async (request, reply) => {
    if (!(await csrf.isGenuine(request))) return denial.refuseForgery(request, reply)
    const task = await taskOf(request)
    if (!task || !mayEnrol(task, 'passkey')) return goTo(request, reply, SECOND_FACTOR_PATH)
    const { visitor } = task
    const form = bodyForm(request) ?? EMPTY_FORM
    const { enrol: texts } = factorTexts(pages.texts(request))
    const result = await passkeys.readRegistration(ceremonyOf(request, visitor), {
      user: visitor.user,
      answer: form.get('credential') ?? '',
      name: texts.passkeyName,
    })
    const isKept = result.outcome === 'new' && (await changes.addPasskey(ownerOf(request, visitor), result.passkey))
    if (!isKept) {
      const problem: Problem = words => words.enrol.failedPasskey
      return show(request, reply, { task, form: EMPTY_FORM, problem })
    }
    return finishEnrolment(request, reply, { visitor, factor: { level: 'phr', amr: ['pop'] } })
  })

  /** A factor that is added was proven by it. Recovery codes are shown to whoever has none. */
  async function finishEnrolment(
    request: FastifyRequest,
    reply: FastifyReply,
    { visitor, factor }: { readonly visitor: Visitor; readonly factor: ProvenFactor },
  ): Promise<FastifyReply> {
    const onward = await onwardOf(request)
    if (!(await sessions.strengthen(request, reply, visitor, factor))) return goTo(request, reply, '/login')
    const codes = await factors.firstRecoveryCodes(ownerOf(request, visitor))
    if (!codes) return goTo(request, reply, onward)
    const { userName } = visitor.user
    const page = recoveryCodesPage(await pages.chrome(request, reply), {
      codes,
      userName,
      onward: urls.ofZone(request.zone) + onward,
    })
    return pages.send(reply, page)
  }
}

/** What to tell the person, in the language of the page. */
type Problem = (
  texts: ReturnType<typeof factorTexts>,
  shared: { readonly errors: { readonly account_locked: string } },
) => string

const mayEnrol = ({ provable, mayAdd, reaching }: Task, method: FactorMethod): boolean =>
  provable.length === 0 && mayAdd && reaching.includes(method)

/** The ways that a person has, the strongest first. */
function waysOf({ provable, visitor }: Task): readonly Way[] {
  const isFirstStep = levelOf(visitor.session.signIn.acr) === '1'
  return [
    ...(provable.includes('passkey') ? (['passkey'] as const) : []),
    ...(provable.includes('totp') ? (['app'] as const) : []),
    ...(isFirstStep ? (['recovery'] as const) : []),
  ]
}
