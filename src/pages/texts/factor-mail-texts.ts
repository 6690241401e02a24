// The words of mails about changed second factors in each language. Apart from the other texts, so that a server whose users
// have none does not load them.
import type { Texts } from './texts.ts'

/** A change that the owner gets a mail about. */
export type FactorNotice =
  | 'passkeyAdded'
  | 'passkeyRemoved'
  | 'appAdded'
  | 'appRemoved'
  | 'codesRenewed'
  | 'codesRemoved'
  | 'bypassGiven'
  | 'codeUsed'
  | 'reset'

interface FactorMailTexts {
  readonly changes: Readonly<
    Record<FactorNotice, { readonly subject: string; readonly lead: (userName: string) => string }>
  >
  readonly button: string
  /** Where it should have been the user. */
  readonly note: string
  /** Where it was an administrator or a client. */
  readonly noteByOther: string
}

const en: FactorMailTexts = {
  changes: {
    passkeyAdded: {
      subject: 'A passkey was added to your account',
      lead: userName => `A passkey was added to the account ${userName}. Whoever has it can use it to sign in.`,
    },
    passkeyRemoved: {
      subject: 'A passkey was removed from your account',
      lead: userName => `A passkey was removed from the account ${userName}.`,
    },
    appAdded: {
      subject: 'An authenticator app was set up for your account',
      lead: userName =>
        `An authenticator app was set up for the account ${userName}. One that was set up before no longer works.`,
    },
    appRemoved: {
      subject: 'The authenticator app was removed from your account',
      lead: userName => `The authenticator app was removed from the account ${userName}.`,
    },
    codesRenewed: {
      subject: 'You have new recovery codes',
      lead: userName => `The account ${userName} has new recovery codes. Those from before no longer work.`,
    },
    codesRemoved: {
      subject: 'Your recovery codes were removed',
      lead: userName => `The recovery codes of the account ${userName} no longer work.`,
    },
    bypassGiven: {
      subject: 'A code for your account was made',
      lead: userName =>
        `A code was made that replaces the second step of a sign-in to the account ${userName} once. It is not in this mail.`,
    },
    codeUsed: {
      subject: 'A code was used to sign in to your account',
      lead: userName =>
        `A sign-in to the account ${userName} used a code in place of the second step. If you have lost a device, remove it in your profile.`,
    },
    reset: {
      subject: 'The second factors of your account were removed',
      lead: userName =>
        `All passkeys, the authenticator app and the recovery codes of the account ${userName} were removed.`,
    },
  },
  button: 'Check your account',
  note: 'If it was not you, change your password now and tell your administrator.',
  noteByOther: 'An administrator did this. If you did not expect it, ask them.',
}

const de: FactorMailTexts = {
  changes: {
    passkeyAdded: {
      subject: 'Ihrem Konto wurde ein Passkey hinzugefügt',
      lead: userName => `Dem Konto ${userName} wurde ein Passkey hinzugefügt. Wer ihn hat, kann sich damit anmelden.`,
    },
    passkeyRemoved: {
      subject: 'Ein Passkey Ihres Kontos wurde entfernt',
      lead: userName => `Ein Passkey des Kontos ${userName} wurde entfernt.`,
    },
    appAdded: {
      subject: 'Für Ihr Konto wurde eine Authentifizierungs-App eingerichtet',
      lead: userName =>
        `Für das Konto ${userName} wurde eine Authentifizierungs-App eingerichtet. Eine frühere gilt nicht mehr.`,
    },
    appRemoved: {
      subject: 'Die Authentifizierungs-App Ihres Kontos wurde entfernt',
      lead: userName => `Die Authentifizierungs-App des Kontos ${userName} wurde entfernt.`,
    },
    codesRenewed: {
      subject: 'Sie haben neue Wiederherstellungscodes',
      lead: userName => `Das Konto ${userName} hat neue Wiederherstellungscodes. Die früheren gelten nicht mehr.`,
    },
    codesRemoved: {
      subject: 'Ihre Wiederherstellungscodes wurden entfernt',
      lead: userName => `Die Wiederherstellungscodes des Kontos ${userName} gelten nicht mehr.`,
    },
    bypassGiven: {
      subject: 'Für Ihr Konto wurde ein Code erstellt',
      lead: userName =>
        `Es wurde ein Code erstellt, der den zweiten Schritt einer Anmeldung beim Konto ${userName} einmal ersetzt. Er steht nicht in dieser E-Mail.`,
    },
    codeUsed: {
      subject: 'Bei Ihrem Konto wurde ein Code zur Anmeldung verwendet',
      lead: userName =>
        `Bei einer Anmeldung am Konto ${userName} ersetzte ein Code den zweiten Schritt. Wenn Sie ein Gerät verloren haben, entfernen Sie es in Ihrem Profil.`,
    },
    reset: {
      subject: 'Die zweiten Faktoren Ihres Kontos wurden entfernt',
      lead: userName =>
        `Alle Passkeys, die Authentifizierungs-App und die Wiederherstellungscodes des Kontos ${userName} wurden entfernt.`,
    },
  },
  button: 'Konto prüfen',
  note: 'Wenn Sie das nicht waren, ändern Sie jetzt Ihr Passwort, und informieren Sie die Administration.',
  noteByOther: 'Das war die Administration. Wenn Sie es nicht erwartet haben, fragen Sie dort nach.',
}

const fr: FactorMailTexts = {
  changes: {
    passkeyAdded: {
      subject: 'Une clé d’accès a été ajoutée à votre compte',
      lead: userName =>
        `Une clé d’accès a été ajoutée au compte ${userName}. Quiconque la possède peut l’utiliser pour se connecter.`,
    },
    passkeyRemoved: {
      subject: 'Une clé d’accès de votre compte a été supprimée',
      lead: userName => `Une clé d’accès du compte ${userName} a été supprimée.`,
    },
    appAdded: {
      subject: 'Une application d’authentification a été configurée pour votre compte',
      lead: userName =>
        `Une application d’authentification a été configurée pour le compte ${userName}. Celle d’avant ne fonctionne plus.`,
    },
    appRemoved: {
      subject: 'L’application d’authentification de votre compte a été supprimée',
      lead: userName => `L’application d’authentification du compte ${userName} a été supprimée.`,
    },
    codesRenewed: {
      subject: 'Vous avez de nouveaux codes de secours',
      lead: userName => `Le compte ${userName} a de nouveaux codes de secours. Les précédents ne fonctionnent plus.`,
    },
    codesRemoved: {
      subject: 'Vos codes de secours ont été supprimés',
      lead: userName => `Les codes de secours du compte ${userName} ne fonctionnent plus.`,
    },
    bypassGiven: {
      subject: 'Un code a été créé pour votre compte',
      lead: userName =>
        `Un code a été créé qui remplace une fois la deuxième étape d’une connexion au compte ${userName}. Il n’est pas dans ce message.`,
    },
    codeUsed: {
      subject: 'Un code a servi à se connecter à votre compte',
      lead: userName =>
        `Une connexion au compte ${userName} a utilisé un code à la place de la deuxième étape. Si vous avez perdu un appareil, supprimez-le dans votre profil.`,
    },
    reset: {
      subject: 'Les deuxièmes facteurs de votre compte ont été supprimés',
      lead: userName =>
        `Toutes les clés d’accès, l’application d’authentification et les codes de secours du compte ${userName} ont été supprimés.`,
    },
  },
  button: 'Vérifier votre compte',
  note: 'Si ce n’était pas vous, changez votre mot de passe maintenant et prévenez votre administrateur.',
  noteByOther: 'C’est un administrateur qui l’a fait. Si vous ne vous y attendiez pas, demandez-lui pourquoi.',
}

const es: FactorMailTexts = {
  changes: {
    passkeyAdded: {
      subject: 'Se añadió una clave de acceso a su cuenta',
      lead: userName =>
        `Se añadió una clave de acceso a la cuenta ${userName}. Quien la tenga puede usarla para iniciar sesión.`,
    },
    passkeyRemoved: {
      subject: 'Se eliminó una clave de acceso de su cuenta',
      lead: userName => `Se eliminó una clave de acceso de la cuenta ${userName}.`,
    },
    appAdded: {
      subject: 'Se configuró una aplicación de autenticación para su cuenta',
      lead: userName =>
        `Se configuró una aplicación de autenticación para la cuenta ${userName}. La anterior ya no funciona.`,
    },
    appRemoved: {
      subject: 'Se eliminó la aplicación de autenticación de su cuenta',
      lead: userName => `Se eliminó la aplicación de autenticación de la cuenta ${userName}.`,
    },
    codesRenewed: {
      subject: 'Tiene códigos de recuperación nuevos',
      lead: userName => `La cuenta ${userName} tiene códigos de recuperación nuevos. Los anteriores ya no funcionan.`,
    },
    codesRemoved: {
      subject: 'Se eliminaron sus códigos de recuperación',
      lead: userName => `Los códigos de recuperación de la cuenta ${userName} ya no funcionan.`,
    },
    bypassGiven: {
      subject: 'Se creó un código para su cuenta',
      lead: userName =>
        `Se creó un código que sustituye una vez el segundo paso de un inicio de sesión en la cuenta ${userName}. No está en este mensaje.`,
    },
    codeUsed: {
      subject: 'Se usó un código para iniciar sesión en su cuenta',
      lead: userName =>
        `Un inicio de sesión en la cuenta ${userName} usó un código en lugar del segundo paso. Si perdió un dispositivo, elimínelo en su perfil.`,
    },
    reset: {
      subject: 'Se eliminaron los segundos factores de su cuenta',
      lead: userName =>
        `Se eliminaron todas las claves de acceso, la aplicación de autenticación y los códigos de recuperación de la cuenta ${userName}.`,
    },
  },
  button: 'Revisar su cuenta',
  note: 'Si no fue usted, cambie su contraseña ahora y avise a su administrador.',
  noteByOther: 'Lo hizo un administrador. Si no lo esperaba, pregúntele.',
}

const ja: FactorMailTexts = {
  changes: {
    passkeyAdded: {
      subject: 'アカウントにパスキーが追加されました',
      lead: userName =>
        `アカウント${userName}にパスキーが追加されました。このパスキーを持つ人は、それを使ってサインインできます。`,
    },
    passkeyRemoved: {
      subject: 'アカウントからパスキーが削除されました',
      lead: userName => `アカウント${userName}からパスキーが1つ削除されました。`,
    },
    appAdded: {
      subject: 'アカウントに認証アプリが設定されました',
      lead: userName => `アカウント${userName}に認証アプリが設定されました。以前の設定は使えなくなりました。`,
    },
    appRemoved: {
      subject: 'アカウントから認証アプリが削除されました',
      lead: userName => `アカウント${userName}から認証アプリが削除されました。`,
    },
    codesRenewed: {
      subject: '新しいリカバリーコードが作成されました',
      lead: userName =>
        `アカウント${userName}の新しいリカバリーコードが作成されました。以前のコードは使えなくなりました。`,
    },
    codesRemoved: {
      subject: 'リカバリーコードが削除されました',
      lead: userName => `アカウント${userName}のリカバリーコードは使えなくなりました。`,
    },
    bypassGiven: {
      subject: 'アカウント用のコードが作成されました',
      lead: userName =>
        `アカウント${userName}へのサインインで、2段階目の確認の代わりに1回だけ使えるコードが作成されました。コードはこのメールには含まれていません。`,
    },
    codeUsed: {
      subject: 'コードを使ってアカウントにサインインしました',
      lead: userName =>
        `アカウント${userName}へのサインインで、2段階目の代わりにコードが使われました。デバイスを紛失した場合は、プロフィールで削除してください。`,
    },
    reset: {
      subject: 'アカウントの2段階目の確認方法が削除されました',
      lead: userName => `アカウント${userName}のすべてのパスキー、認証アプリ、リカバリーコードが削除されました。`,
    },
  },
  button: 'アカウントを確認',
  note: '心当たりがない場合は、すぐにパスワードを変更し、管理者に連絡してください。',
  noteByOther: 'この操作は管理者が行いました。心当たりがない場合は、管理者に確認してください。',
}

const zh: FactorMailTexts = {
  changes: {
    passkeyAdded: {
      subject: '您的账号添加了一个通行密钥',
      lead: userName => `账号 ${userName} 添加了一个通行密钥。持有它的人可以用它登录。`,
    },
    passkeyRemoved: {
      subject: '您的账号移除了一个通行密钥',
      lead: userName => `账号 ${userName} 移除了一个通行密钥。`,
    },
    appAdded: {
      subject: '您的账号设置了身份验证器应用',
      lead: userName => `账号 ${userName} 设置了身份验证器应用。之前设置的应用不再有效。`,
    },
    appRemoved: {
      subject: '您的账号移除了身份验证器应用',
      lead: userName => `账号 ${userName} 移除了身份验证器应用。`,
    },
    codesRenewed: {
      subject: '您有新的恢复代码',
      lead: userName => `账号 ${userName} 有了新的恢复代码。之前的代码不再有效。`,
    },
    codesRemoved: {
      subject: '您的恢复代码已移除',
      lead: userName => `账号 ${userName} 的恢复代码不再有效。`,
    },
    bypassGiven: {
      subject: '已为您的账号生成一个代码',
      lead: userName => `已生成一个代码，可在登录账号 ${userName} 时代替第二步一次。代码不在此邮件中。`,
    },
    codeUsed: {
      subject: '有人使用代码登录了您的账号',
      lead: userName => `账号 ${userName} 的一次登录使用了代码代替第二步。如果您遗失了设备，请在个人资料中将其移除。`,
    },
    reset: {
      subject: '您账号的第二步验证方式已移除',
      lead: userName => `账号 ${userName} 的所有通行密钥、身份验证器应用和恢复代码均已移除。`,
    },
  },
  button: '查看您的账号',
  note: '如果不是您本人操作，请立即更改密码并通知管理员。',
  noteByOther: '此操作由管理员执行。如果您不知情，请向其询问。',
}

const LANGUAGES: Readonly<Record<string, FactorMailTexts>> = { en, de, fr, es, ja, zh }

/** In the language of the mail's frame. */
export const factorMailTexts = ({ tag }: Pick<Texts, 'tag'>): FactorMailTexts => LANGUAGES[tag.slice(0, 2)] ?? en
