# Only a person who logs in wants to read this. "touch ~/.hushlogin" for not at all.
function fish_greeting
    if status is-login; and test -r ~/.config/sbx/welcome; and not test -e ~/.hushlogin
        cat ~/.config/sbx/welcome
    end
end
