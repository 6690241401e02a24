import { html } from '../../base/html.ts'
import { en } from './en.ts'
import type { TranslatedDescription, TranslatedPattern, Texts } from './texts.ts'

const NOT_AUTHORIZED = 'Authorization Request Error There was an error. The request for authorization was invalid.'
const FORGED =
  'You have attempted to make a request that does not meet our security requirements. This may indicate that the request was not originated by you, or the request time limit was reached. Please retry your action.'

/** The second headings of error pages that are about something in particular. */
const SUBHEADINGS: Readonly<Partial<Record<TranslatedDescription | TranslatedPattern, string>>> = {
  forged: FORGED,
  malicious: en.descriptions.malicious,
  unsupportedRequest: en.descriptions.unsupportedRequest,
  unknownClient: NOT_AUTHORIZED,
  missingClient: NOT_AUTHORIZED,
  unregisteredRedirect: NOT_AUTHORIZED,
  noRedirect: NOT_AUTHORIZED,
  nothingToApprove: NOT_AUTHORIZED,
  changedRequest: NOT_AUTHORIZED,
  oauthFailed: 'There was an error when authenticating against the external identity provider',
}

/** The words by which scripts and tests of UAA's users know its pages; English where they look for none. */
export const uaa: Texts = {
  ...en,
  reference: {
    product: 'Cloud Foundry',
    copyright: (year, company) => `Copyright © ${company} ${year}. All Rights Reserved.`,
    menu: { settings: 'Account Settings', signOut: 'Sign Out' },
    welcome: zone => (zone === undefined ? 'Welcome!' : `Welcome to ${zone}!`),
    passwordAutocomplete: 'off',
    userNamePlaceholder: 'Username',
    discoveryPlaceholder: 'Email or Username',
    emailPlaceholder: 'Enter your email',
    username: 'Email',
    origin: origin => html`(origin: ${origin})`,
    companyAccount: company => ({
      create: `Create your ${company} account`,
      link: `Link your ${company} account`,
      submit: `Create ${company} account`,
    }),
    activationSent: 'Email successfully sent',
    clientHeading: client => client,
    subheading: known => (known && SUBHEADINGS[known]) ?? 'Uh oh. Something went amiss.',
  },
  login: { ...en.login, or: 'or sign in with:' },
  errors: {
    ...en.errors,
    login_failure: 'Provided credentials are invalid. Please try again.',
    account_locked: 'Your account has been locked because of too many failed attempts to login.',
    account_not_verified:
      'Your account is not verified. You can get another verification link by clicking on Create Account.',
    password_expired: 'Your current password has expired. Please reset your password.',
    account_not_precreated: en.descriptions.notPrecreated,
    invalid_login_request:
      'Invalid login attempt, the request does not meet our security standards and may indicate that the action was not originated by you. Please try again.',
    invalid_login_hint: 'The origin provided in the login hint is invalid.',
    invalid_idp: 'The application is not authorized for your account.',
    idp_not_found: 'Unable to map SAML identity provider. Please try a different authentication method.',
  },
  successes: {
    ...en.successes,
    verify_success: 'Verification successful. Login to access your account.',
    password_reset: 'Password reset successful. Login to access your account.',
    invite_accepted: 'Invitation accepted. Login to access your account.',
    change_email_success: 'Email address successfully verified. Login to access your account.',
  },
  approval: {
    ...en.approval,
    title: 'Application Authorization',
    heading: () => html`Application Authorization`,
    choose: userName =>
      html`This application has requested permission to access your account ${userName}. If you do not recognize this application or its URL, you should click Deny. The application will not see your password.`,
    changeLater:
      'You can change your approval of permissions or revoke access for this application at any time from account settings.',
    allow: 'Authorize',
  },
  newPassword: { ...en.newPassword, title: 'Force Change Password', heading: 'Force Change Password' },
  profile: {
    ...en.profile,
    title: 'Account Settings',
    heading: 'Account Settings',
    revoke: 'Revoke Access',
    applications: 'Third Party Access',
    noApplications: 'You have not yet authorized any third party applications.',
    applicationsLead: 'These applications have been granted access to your account.',
    cancel: 'Go Back',
    confirm: 'Yes',
    successes: { ...en.profile.successes, 'email_change.success': 'Email address successfully verified.' },
  },
  home: { ...en.home, heading: () => html`Where to?` },
  passcode: {
    ...en.passcode,
    title: 'Temporary Authentication Code',
    heading: 'Temporary Authentication Code',
  },
  invitation: {
    ...en.invitation,
    title: 'Create your account',
    heading: 'Create your account',
    lead: email => html`Email: ${email}`,
    agreeLead: email => html`Email: ${email}`,
    directory: {
      heading: 'Link your account',
      lead: email => html`Email: ${email}<br>Sign in with enterprise credentials:`,
      userName: 'Username',
      password: 'Password',
      submit: 'Sign in',
    },
    problems: {
      ...en.invitation.problems,
      bad_credentials: 'Provided credentials are invalid. Please try again.',
      'invite.email_mismatch':
        'The authenticated email does not match the invited email. Please log in using a different account.',
      code_expired: 'Your invitation code has expired. Please request another.',
    },
  },
  descriptions: { ...en.descriptions, forged: 'Warning: Invalid Request Error' },
  account: { ...en.account, details: 'Profile', changeEmail: 'Change Email', changePassword: 'Change Password' },
  signUp: {
    ...en.signUp,
    again: 'Confirm',
    sent: 'Please check email for an activation link.',
    otherProvider: 'Login with provider',
    problems: {
      ...en.signUp.problems,
      other_idp: 'Account sign-up is not required for this email domain. Please login with the identity provider',
    },
  },
  emailChange: {
    ...en.emailChange,
    title: 'Change Email',
    heading: 'Change Email',
    current: email => html`Current Email Address: ${email}`,
    newEmail: 'New Email Address',
    submit: 'Send Verification Link',
  },
  forgottenPassword: {
    ...en.forgottenPassword,
    title: 'Reset Password',
    heading: 'Reset Password',
    submit: 'Send reset password link',
    expired: 'Sorry, your reset password link is no longer valid. You can request another one below.',
    whose: userName => html`Username: ${userName}`,
  },
  changePassword: { ...en.changePassword, title: 'Change Password', heading: 'Change Password' },
  emailSent: {
    ...en.emailSent,
    title: 'Instructions Sent',
    heading: 'Instructions Sent',
    leads: { ...en.emailSent.leads, reset_password: 'Please check your email for a reset password link.' },
    back: 'Back to Sign In',
  },
  accountMails: {
    ...en.accountMails,
    resetPassword: { ...en.accountMails.resetPassword, subject: 'Account password reset request' },
    passwordElsewhere: { ...en.accountMails.passwordElsewhere, subject: 'Account password reset request' },
    activate: {
      ...en.accountMails.activate,
      lead: ({ email }) => `A request has been made to activate an account for: ${email}`,
    },
    verifyNewEmail: { ...en.accountMails.verifyNewEmail, subject: 'Account Email change verification' },
  },
}
