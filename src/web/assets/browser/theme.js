const chosenTheme = localStorage.getItem('theme')
if (chosenTheme === 'light' || chosenTheme === 'dark')
document.documentElement.dataset.theme = chosenTheme
