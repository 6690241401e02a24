// The pages on which users get an account and change it: who may open them. Their code is loaded at the first visit.
import type { FastifyInstance } from 'fastify'
import { deferredRoutes } from '../../web/deferred-routes.ts'
import type { DeferredRoute, RouteName } from '../../web/deferred-routes.ts'
import { demanded, formOf, open, otherSitesMayPost, own, ownForm } from '../access.ts'
import type { LoginDeps } from '../deps.ts'

const keptHere = { ownAccounts: true } as const
const anonymous = open('users without an account or password')
const byCode = open('the code identifies the user')

const ROUTES = {
  'GET /create_account': { ...anonymous, ...keptHere },
  'POST /create_account.do': { ...anonymous, ...ownForm, ...keptHere },
  'GET /accounts/email_sent': { ...anonymous, ...keptHere },
  'HEAD /verify_user': byCode,
  'GET /verify_user': { ...byCode, ...keptHere, exposeHeadRoute: false },
  'POST /verify_user': { ...byCode, ...ownForm, ...keptHere },
  'GET /forgot_password': { ...anonymous, ...keptHere },
  'POST /forgot_password.do': {
    ...anonymous,
    // UAA: without an anti-forgery value.
    ...otherSitesMayPost('it only sends a mail, which anyone can cause from anywhere'),
    ...keptHere,
  },
  'GET /email_sent': { ...anonymous, ...keptHere },
  'GET /reset_password': { ...byCode, ...keptHere },
  'POST /reset_password.do': { ...byCode, ...ownForm, ...keptHere },
  'GET /verify_email': { ...byCode, ...keptHere },
  'POST /verify_email': { ...byCode, ...ownForm, ...keptHere },
  'GET /invitations/accept': byCode,
  'POST /invitations/accept.do': { ...byCode, ...ownForm },
  'POST /invitations/accept_enterprise.do': { ...byCode, ...ownForm },
  'GET /continue': open('it redirects only to URLs that clients have registered'),
  'GET /change_email': { ...own, ...keptHere },
  'POST /change_email.do': { ...formOf('/change_email'), ...keptHere },
  'GET /change_password': { ...own, ...keptHere },
  'POST /change_password.do': { ...formOf('/change_password'), ...keptHere },
  'GET /force_password_change': demanded,
  'POST /force_password_change': { ...demanded, ...ownForm },
  'GET /force_password_change_completed': demanded,
  'GET /profile': own,
  'POST /profile': formOf('/profile'),
  'POST /profile/details': formOf('/profile'),
  'POST /profile/sessions': formOf('/profile'),
} as const satisfies Record<RouteName, DeferredRoute>

/** One of these pages, or what its form is posted to. */
export type AccountPage = keyof typeof ROUTES

/** Sign-up, forgotten passwords, changes of password and e-mail address, invitations and the profile. */
export function accountPages(app: FastifyInstance, deps: LoginDeps): void {
  deferredRoutes(app, ROUTES, {
    deps,
    load: async () => [
      (await import('./create-account.ts')).createAccountHandlers,
      (await import('./change-email.ts')).changeEmailHandlers,
      (await import('./forgotten-password.ts')).forgottenPasswordHandlers,
      (await import('./change-password.ts')).changePasswordHandlers,
      (await import('./force-password-change.ts')).forcePasswordChangeHandlers,
      (await import('./invitations.ts')).invitationHandlers,
      (await import('./profile.ts')).profileHandlers,
      (await import('./continue.ts')).continueHandlers,
    ],
  })
}
