# The test of this repository: every page must have a form.
for page in web/*.html; do
    if [ -e "$page" ] && ! grep -q '<form' "$page"; then
        echo "$page has no form"
        exit 1
    fi
done
echo "every page has a form"
